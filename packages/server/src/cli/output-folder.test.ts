import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FileInfo, SandboxFiles } from "../core/file.ts";
import { copyFolder } from "./output-folder.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "caisson-output-"));
  await mkdir(join(folder, "out"));
  await mkdir(join(folder, "victim"));
});
afterEach(() => rm(folder, { recursive: true }));

/** What a taken-over guest could say; an honest one cannot. */
function lying(...names: string[]): Pick<SandboxFiles, "list" | "readEach"> {
  const row = (name: string): FileInfo => ({ name, type: "file", size: 4, mode: 0o644, mtimeMs: 0 });
  return {
    readEach: async (_path, take) => take(Buffer.from("evil")),
    list: async () => names.map(row),
  };
}

describe("what comes out of a sandbox", () => {
  it("is not written through a link that stands in the way, listed or not", async () => {
    await symlink("../victim", join(folder, "out/a"));
    await expect(copyFolder(lying("a/pwned"), "/workspace/output", join(folder, "out"), 1000)).rejects.toMatchObject({
      code: "conflict",
    });
    expect(await readdir(join(folder, "victim"))).toEqual([]);
  });

  it("is written where it belongs, its folders included", async () => {
    await copyFolder(lying("deep/er/file"), "/workspace/output", join(folder, "out"), 1000);
    expect(await readFile(join(folder, "out/deep/er/file"), "utf8")).toBe("evil");
  });

  it.each(["../victim/x", "/etc/x", "a//b", "./x", "a/../../victim/x"])(
    "is left out under the name %s",
    async (name) => {
      expect(await copyFolder(lying(name), "/workspace/output", join(folder, "out"), 1000)).toHaveLength(1);
      expect(await readdir(join(folder, "victim"))).toEqual([]);
    },
  );

  it("is no more than the workspace could hold", async () => {
    await expect(copyFolder(lying("a", "b", "c"), "/workspace/output", join(folder, "out"), 10)).rejects.toMatchObject({
      code: "limit_exceeded",
    });
  });
});
