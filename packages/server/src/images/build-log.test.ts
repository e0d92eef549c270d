import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BuildLog, readLog } from "./build-log.ts";
import { buildLimits } from "./limits.ts";

const never = new AbortController().signal;
const all = async (texts: AsyncIterable<string>) => (await Array.fromAsync(texts)).join("");

describe("the log of a build", () => {
  let folder: string;
  let path: string;
  let log: BuildLog;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "caisson-log-"));
    path = join(folder, "one.log");
    log = await BuildLog.create(path);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("comes whole to whoever follows, from before and from after they came", async () => {
    await log.write("before\n");
    const reader = log.follow(never);
    expect((await reader.next()).value).toBe("before\n");
    const next = reader.next();
    await log.write(Buffer.from("ü\n").subarray(0, 1));
    await log.write(Buffer.from("ü\n").subarray(1));
    expect((await next).value).toBe("ü\n");
    await log.end();
    expect((await reader.next()).done).toBe(true);
    expect(await all(log.follow(never))).toBe("before\nü\n");
    expect(await all(readLog(path))).toBe("before\nü\n");
  });

  it("lets go of a reader that leaves", async () => {
    const gone = new AbortController();
    const rest = all(log.follow(gone.signal));
    gone.abort();
    expect(await rest).toBe("");
  });

  it("has an end, however much is said", async () => {
    const piece = "x".repeat(1024 ** 2);
    for (let at = 0; at < 6; at++) await log.write(piece);
    await log.end();
    const text = await all(readLog(path));
    expect(text.length).toBeLessThan(buildLimits.logBytes + 100);
    expect(text.endsWith("left out\n")).toBe(true);
  });

  it("is empty when there is none", async () => {
    expect(await all(readLog(join(folder, "none.log")))).toBe("");
  });
});
