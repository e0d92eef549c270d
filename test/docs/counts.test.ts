import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tools } from "../../packages/server/src/tools/tools.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { root } from "../harness.ts";
import { tableRows } from "./tables.ts";

const read = (page: string) => readFileSync(join(root, page), "utf8");
const first = (page: string, pattern: RegExp) => pattern.exec(read(page))?.[1]?.toLowerCase();
const numbers = ["no", "one", "two", "three", "four", "five", "six"];

/** Programs of the bundle that are processes of their own; workers are threads. */
const programs = [...read("scripts/bundle.mjs").matchAll(/^ {4}"?([\w-]+)"?: "packages\/server\/src\//gm)]
  .map(([, name = ""]) => name)
  .filter((name) => !name.endsWith("-worker"));

describe("numbers in the documents", () => {
  it("README.md counts the tools that there are", () => {
    expect(first("README.md", /Agents get (\d+) tools/)).toBe(String(tools.length));
  });

  it("docs/wire.md names the version that guest and owner speak", () => {
    expect(first("docs/wire.md", /^Version (\d+)\./m)).toBe(String(wireLimits.version));
  });

  it("docs/daemon.md and ARCHITECTURE.md count the processes that docs/daemon.md lists", () => {
    const listed = tableRows("docs/daemon.md", "| process | user | does |");
    expect(listed).toHaveLength(programs.length);
    expect(first("docs/daemon.md", /^## (\w+) processes$/m)).toBe(numbers[listed.length]);
    expect(first("ARCHITECTURE.md", /`caisson up` is (?:up to )?(\w+) processes/)).toBe(numbers[listed.length]);
  });
});
