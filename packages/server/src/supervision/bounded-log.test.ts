import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BoundedLog } from "./bounded-log.ts";
import { supervisionLimits } from "./limits.ts";

it("a log keeps to its size, with as much of what came before, and goes on where it was", async () => {
  const folder = await mkdtemp(join(tmpdir(), "caisson-log-"));
  const path = join(folder, "log");
  const text = "x".repeat(supervisionLimits.logBytes / 4);
  {
    using log = new BoundedLog(path);
    for (let i = 0; i < 12; i++) log.write(text);
  }
  {
    using log = new BoundedLog(path);
    log.write("last\n");
  }
  for (const name of [path, `${path}.1`]) {
    const { size, mode } = await stat(name);
    expect(size).toBeLessThanOrEqual(supervisionLimits.logBytes + 2 * text.length);
    expect(mode & 0o777).toBe(0o600);
  }
  expect((await readFile(path, "utf8")).endsWith("last\n")).toBe(true);
  await rm(folder, { recursive: true });
});
