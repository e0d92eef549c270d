import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../harness.ts";
import { tableRows, wordsOf } from "./tables.ts";

const source = "packages/server/src";

const foldersIn = (folder: string) =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

/** Paths that a page names and that exist below none of these folders. */
function missing(page: string, ...folders: string[]): string[] {
  const prose = readFileSync(join(root, page), "utf8").replace(/^```[^`]*^```$/gm, "");
  const words = wordsOf(prose).filter((word) => /^[\w./-]+\.(ts|c|mjs|md)$/.test(word));
  expect(words.length).toBeGreaterThan(20);
  return words.filter((word) => !word.includes("NAME") && !folders.some((one) => existsSync(join(root, one, word))));
}

describe("a map of folders", () => {
  it("in ARCHITECTURE.md has a row for each folder of the server, and no other", () => {
    const named = tableRows("ARCHITECTURE.md", "| layer | folder | holds |").flatMap(([, cell = ""]) => wordsOf(cell));
    expect(named.filter((word) => !word.endsWith(".ts")).sort()).toEqual(foldersIn(source).sort());
  });

  it("in test/README.md has a row for each folder of tests, and no other", () => {
    const named = tableRows("test/README.md", "| folder | tests |").flatMap(([cell = ""]) => wordsOf(cell));
    expect(named.sort()).toEqual(foldersIn("test").sort());
  });

  it("names files that exist", () => {
    expect(missing("ARCHITECTURE.md", ".", source)).toEqual([]);
    expect(missing("test/README.md", ".", "test", source)).toEqual([]);
  });
});
