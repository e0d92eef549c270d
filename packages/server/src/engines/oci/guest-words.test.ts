import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { guestWords } from "./guest-words.ts";

describe("the guest's words", () => {
  it.each([
    ["0\n", []],
    ["1\n", ["copy-memory"]],
    ["2\n", ["copy-memory"]],
    [undefined, ["copy-memory"]],
  ])("fs.suid_dumpable %j gives %j", async (value, words) => {
    const folder = await mkdtemp(join(tmpdir(), "caisson-words-"));
    const path = join(folder, "value");
    if (value !== undefined) await writeFile(path, value);
    expect(await guestWords("container", path)).toEqual(words);
    await rm(folder, { recursive: true });
  });

  it("ask for no copy under gVisor, whose kernel never opens such memory", async () => {
    expect(await guestWords("gvisor", "/nowhere")).toEqual([]);
  });
});
