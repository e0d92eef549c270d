import { describe, expect, it } from "vitest";
import type { TreeEntry } from "../core/tree.ts";
import { changesBetween } from "./compare-trees.ts";
import { planRestore } from "./plan-restore.ts";

const base = { mode: 0o644, mtimeNs: 1n, size: 0, sha256: "", chunks: [], target: "" };
const file = (path: string, sha256: string, more: Partial<TreeEntry> = {}): TreeEntry => ({
  ...base,
  type: "file",
  path,
  sha256,
  size: 1,
  chunks: [sha256],
  ...more,
});
const folder = (path: string): TreeEntry => ({ ...base, type: "directory", path });
const hard = (path: string, target: string): TreeEntry => ({ ...base, type: "hard-link", path, target });
const closed = (path: string): TreeEntry => ({ ...base, type: "unreadable", path });

const plan = (live: TreeEntry[], wanted: TreeEntry[]) =>
  planRestore(live, wanted).members.map(({ member: { type, path } }) => `${type} ${path}`);

describe("a plan of a restore", () => {
  it("is empty when nothing is different", () => {
    const tree = [folder("d"), file("d/a", "1"), hard("d/b", "d/a"), closed("x")];
    expect(plan(tree, tree)).toEqual([]);
  });

  it("removes, makes folders, changes, writes and links, in this order, and a folder only as a whole", () => {
    const live = [folder("extra"), file("extra/a", "1"), file("f", "1"), file("g", "2"), file("t", "3")];
    const wanted = [folder("d"), file("d/n", "4"), file("f", "9"), file("g", "2", { mode: 0o600 }), hard("h", "d/n")];
    expect(plan(live, wanted)).toEqual([
      "removal extra",
      "removal t",
      "directory d",
      "change g",
      "file d/n",
      "file f",
      "hard-link h",
    ]);
  });

  it("sends folders again when only a file in one is different: its time changes with it", () => {
    expect(plan([folder("d"), file("d/a", "1")], [folder("d"), file("d/a", "2")])).toEqual(["directory d", "file d/a"]);
  });

  it("parts files that have become one, and joins those that were one", () => {
    expect(plan([file("a", "1"), hard("b", "a")], [file("a", "1"), file("b", "1")])).toEqual(["file b"]);
    expect(plan([file("a", "1"), file("b", "1")], [file("a", "1"), hard("b", "a")])).toEqual(["hard-link b"]);
    expect(plan([file("a", "2"), hard("b", "a")], [file("a", "1"), hard("b", "a")])).toEqual(["file a", "hard-link b"]);
    expect(plan([file("a", "1"), hard("b", "a"), hard("c", "a")], [file("b", "1"), hard("c", "b")])).toEqual([
      "removal a",
    ]);
  });

  it("leaves what could not be read, and what is in it, as it is", () => {
    expect(plan([folder("d"), file("d/x", "1"), file("e", "1")], [closed("d")])).toEqual(["removal e"]);
    expect(plan([], [closed("d")])).toEqual([]);
  });

  it("puts folders, files and links in each other's place", () => {
    const link = { ...base, type: "link" as const, path: "a", target: "b" };
    expect(plan([folder("a"), file("a/x", "1")], [file("a", "1")])).toEqual(["removal a", "file a"]);
    expect(plan([file("a", "1")], [folder("a")])).toEqual(["directory a"]);
    expect(plan([closed("a")], [folder("a")])).toEqual(["removal a", "directory a"]);
    expect(plan([link], [{ ...link, target: "c" }])).toEqual(["link a"]);
    expect(plan([link], [{ ...link, mtimeNs: 2n }])).toEqual(["change a"]);
  });
});

describe("the room that a restore needs", () => {
  const MiB = 1024 ** 2;
  const big = (path: string, sha256: string, mebibytes: number) => file(path, sha256, { size: mebibytes * MiB });
  const needed = (live: TreeEntry[], wanted: TreeEntry[]) => planRestore(live, wanted).neededBytes / MiB;

  it("[S93] is what is written past what went before", () => {
    expect(needed([big("a", "1", 8)], [big("b", "2", 10)])).toBe(2);
    expect(needed([big("a", "1", 8)], [big("b", "2", 6)])).toBe(0);
    expect(needed([folder("d"), big("d/a", "1", 8), big("d/b", "2", 4)], [big("b", "3", 14)])).toBe(2);
  });

  it("[S93] has an old file and its new one at the same time, and no more than one of them", () => {
    expect(needed([big("a", "1", 8)], [big("a", "2", 8)])).toBe(8);
    expect(needed([big("a", "1", 8), big("b", "1", 8)], [big("a", "2", 8), big("b", "2", 8)])).toBe(8);
  });

  it("[S93] is little for a file of holes, whose chunks are alike", () => {
    const hole = file("h", "1", { size: 1000 * MiB, chunks: Array(500).fill("zeros") });
    expect(needed([], [hole])).toBeLessThanOrEqual(2);
  });
});

describe("changes between two trees", () => {
  it("are what was made, what is different and what is gone; a time alone is none", () => {
    const before = [file("a", "1"), file("b", "1"), hard("c", "b"), folder("d"), file("e", "1")];
    const after = [
      file("a", "1", { mtimeNs: 9n }),
      file("b", "2"),
      hard("c", "b"),
      { ...folder("d"), mode: 0 },
      file("f", "1"),
    ];
    const changes = [...changesBetween(before, after)].map(({ change, path }) => `${change} ${path}`);
    expect(changes).toEqual(["modified b", "modified c", "modified d", "deleted e", "created f"]);
  });
});
