import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../harness.ts";

const index = readFileSync(join(root, "docs/README.md"), "utf8");
const linked = new Set([...index.matchAll(/\]\(([\w./-]+)\)/g)].map(([, target = ""]) => target));

describe("docs/README.md", () => {
  it("links to every page of the documentation", () => {
    const pages = readdirSync(join(root, "docs")).filter((name) => name !== "README.md");
    expect(pages.filter((name) => !linked.has(name))).toEqual([]);
  });
});
