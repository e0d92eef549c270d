import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FolderWriter } from "./folder-writer.ts";

let folder: string;
let writer: FolderWriter;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "caisson-writer-"));
  for (const name of ["out", "victim"]) await mkdir(join(folder, name));
  writer = new FolderWriter(join(folder, "out"), 1000);
});
afterEach(() => rm(folder, { recursive: true }));

const write = (name: string, text = "new") => writer.file(name, 0o644, (piece) => piece(Buffer.from(text)));
const read = (name: string) => readFile(join(folder, "out", name), "utf8");
const names = async () => (await readdir(join(folder, "out"))).sort();

describe("a folder that is written", () => {
  it.each(["a", "a/b"])("is looked at for each file: no link that %s has become is followed", async (name) => {
    await write("a/b/first");
    await rename(join(folder, "out", name), join(folder, "aside"));
    await mkdir(join(folder, "victim/b"));
    await symlink(join(folder, "victim"), join(folder, "out", name));
    await expect(write("a/b/second")).rejects.toMatchObject({ code: "conflict" });
    expect([await readdir(join(folder, "victim")), await readdir(join(folder, "victim/b"))]).toEqual([["b"], []]);
  });

  it("keeps files that are called as parts of others could be", async () => {
    for (const name of ["a.caisson-part", ".caisson-part"]) await writeFile(join(folder, "out", name), "mine");
    await write("b.caisson-part", "theirs");
    for (const name of ["a", "b"]) await write(name);
    expect(await names()).toEqual([".caisson-part", "a", "a.caisson-part", "b", "b.caisson-part"]);
    expect([await read("a.caisson-part"), await read("b.caisson-part"), await read("b")]).toEqual([
      "mine",
      "theirs",
      "new",
    ]);
  });

  it("takes names of 255 bytes, and keeps no part of a file that failed", async () => {
    const long = "n".repeat(255);
    await write(long);
    await expect(write("large", "x".repeat(2000))).rejects.toMatchObject({ code: "limit_exceeded" });
    await mkdir(join(folder, "out/taken/below"), { recursive: true });
    await expect(write("taken")).rejects.toThrow();
    expect(await names()).toEqual([long, "taken"]);
  });
});
