import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { geteuid } from "node:process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkTrays } from "./host-checks.ts";

describe("whether what is large can reach sandboxes through memory", () => {
  let memory: string;
  let folder: string;
  beforeEach(() => {
    memory = mkdtempSync(join(tmpdir(), "caisson-memory-"));
    folder = join(memory, "caisson");
  });
  afterEach(() => rmSync(memory, { recursive: true }));

  const make = (mode = 0o711) => {
    mkdirSync(folder);
    chmodSync(folder, mode);
  };

  it("it can where the folder is this user's, or can be made", async () => {
    expect(await checkTrays(folder)).toMatchObject({
      state: "ok",
      detail: expect.stringContaining(`free in ${memory}`),
    });
    make();
    expect(await checkTrays(folder)).toMatchObject({ state: "ok" });
  });

  const slower = { state: "warning", detail: expect.stringMatching(/not this user's alone: downloads .* slower/) };
  it.each<[string, () => void]>([
    ["others may write there", () => make(0o777)],
    ["it is a link", () => symlinkSync("/var/tmp", folder)],
  ])("it cannot where %s", async (_what, prepare) => {
    prepare();
    expect(await checkTrays(folder)).toMatchObject({ ...slower, hint: `rm -r ${folder}` });
  });

  it.runIf(geteuid?.() === 0)("it cannot where another user has made it", async () => {
    make();
    chownSync(folder, 4242, 4242);
    expect(await checkTrays(folder)).toMatchObject(slower);
  });

  it("it cannot where there is no such memory", async () => {
    expect(await checkTrays(join(memory, "none", "caisson"))).toMatchObject({
      state: "warning",
      hint: expect.stringMatching(/^mount /),
    });
  });
});
