import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

interface Claim {
  id: string;
  tests: string[];
}

/** A test named without a folder lies beside the one before it. */
function testsOf(cell: string): string[] {
  const found: string[] = [];
  for (const [, name = ""] of cell.matchAll(/`([^`]+)`/g))
    found.push(name.includes("/") ? name : join(dirname(found.at(-1) ?? ""), name));
  return found;
}

const claims: Claim[] = [...read("SECURITY.md").matchAll(/^\| (S\d+) \|.*\| ([^|]*) \|$/gm)].map(
  ([, id = "", cell = ""]) => ({ id, tests: testsOf(cell) }),
);

describe("the claims of SECURITY.md", () => {
  it("each have a number of their own", () => {
    const ids = claims.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(20);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  it.each(claims)("$id names tests that exist", ({ tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter((file) => globSync(file, { cwd: root }).length === 0)).toEqual([]);
  });

  it("are those that the sources name", () => {
    const sources = globSync(["packages/*/src/**/*.ts", "native/**/*.{c,h}"], { cwd: root });
    const named = sources.flatMap((file) =>
      [...read(file).matchAll(/(?:\(|claims? |and )(S\d{1,3})\b/g)].map(([, id]) => ({ file, id })),
    );
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(({ id }) => !claims.some((claim) => claim.id === id))).toEqual([]);
  });
});

describe("the records of decisions", () => {
  it("each have a number of their own", () => {
    const numbers = globSync("docs/decisions/*.md", { cwd: root }).map((file) => /\d{4}/.exec(file)?.[0]);
    expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
  });
});
