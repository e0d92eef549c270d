import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const table = readFileSync(join(root, "docs/requirements.md"), "utf8");

interface Row {
  id: string;
  status: "open" | "delivered";
  file?: string;
}

interface Title {
  text: string;
  runs: boolean;
}

/** The rows of the table; `problems` names each row that cannot be read. */
function parseRows(markdown: string): { rows: Row[]; problems: string[] } {
  const rows: Row[] = [];
  const problems: string[] = [];
  for (const line of markdown.split("\n").filter((line) => /^\|\s*[A-Z]+-\d/.test(line))) {
    // A bar inside a cell is written \|.
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
    const [, id = "", , status = ""] = cells;
    const delivered = /^delivered: (\S+\.test\.ts)$/.exec(status);
    if (cells.length !== 5 || !/^[A-Z]{2,3}-\d{2}$/.test(id)) problems.push(`not a row: ${line}`);
    else if (rows.some((row) => row.id === id)) problems.push(`${id} stands twice`);
    else if (/^open(: .{10,})?$/.test(status)) rows.push({ id, status: "open" });
    else if (delivered?.[1]) rows.push({ id, status: "delivered", file: delivered[1] });
    else problems.push(`${id}: not a status: ${status}`);
  }
  return { rows, problems };
}

/** The end of the string literal or bracket that opens at `start`. */
function endOf(code: string, start: number): number {
  const open = code[start] ?? "";
  const quoted = "\"'`".includes(open);
  let depth = 0;
  for (let at = quoted ? start + 1 : start; at < code.length; at++) {
    const char = code[at] ?? "";
    if (char === "\\") at++;
    else if (quoted) {
      if (char === open) return at + 1;
    } else if ("\"'`".includes(char)) at = endOf(code, at) - 1;
    else if ("([{".includes(char)) depth++;
    else if (")]}".includes(char) && --depth === 0) return at + 1;
  }
  return code.length;
}

/** The titles of it, test and describe, also behind `.each(rows)` and `.skipIf(condition)`. */
function findTitles(code: string): Title[] {
  const titles: Title[] = [];
  for (const head of code.matchAll(/\b(?:it|test|describe)((?:\.\w+)*)\s*(?=\()/g)) {
    let at = head.index + head[0].length;
    while (code[at] === "(") {
      const first = at + 1 + (/^\s*/.exec(code.slice(at + 1))?.[0].length ?? 0);
      if ("\"'`".includes(code[first] ?? " ")) {
        titles.push({
          text: code.slice(first + 1, endOf(code, first) - 1),
          runs: !/\.(skip|todo)\b/.test(head[1] ?? ""),
        });
        break;
      }
      at = endOf(code, at);
    }
  }
  return titles;
}

/** Ids in a title. Without brackets only the table's own prefixes count, so that UTF-16 is not one. */
function findIds(title: string, prefixes: Set<string>): string[] {
  const plain = [...title.matchAll(/\b([A-Z]{2,3})-\d{2}\b/g)].filter((match) => prefixes.has(match[1] ?? ""));
  const bracketed = [...title.matchAll(/(?<=\[)[A-Z]{2,3}-\d{2}(?=\])/g)];
  return [...new Set([...plain, ...bracketed].map((match) => match[0]))];
}

const { rows, problems } = parseRows(table);
const prefixes = new Set(rows.map((row) => row.id.slice(0, row.id.indexOf("-"))));
const delivered = rows.filter((row) => row.status === "delivered");
const named = globSync(["test/**/*.test.ts", "packages/*/src/**/*.test.ts"], { cwd: root })
  .filter((file) => file !== relative(root, import.meta.filename))
  .flatMap((file) =>
    findTitles(readFileSync(join(root, file), "utf8")).flatMap(({ text, runs }) =>
      findIds(text, prefixes).map((id) => ({ id, file, text, runs })),
    ),
  );

describe("the requirements table", () => {
  it("has rows, and each of them can be read", () => {
    expect(problems).toEqual([]);
    expect(rows.length).toBeGreaterThan(150);
  });

  it("names for every delivered id a file with a running test of it", () => {
    const tested = new Set(named.filter((title) => title.runs).map(({ id, file }) => `${id} in ${file}`));
    const marks = delivered.map(({ id, file }) => `${id} in ${file}`);
    expect(marks.filter((mark) => !tested.has(mark))).toEqual([]);
  });

  it("has every id that a test title names", () => {
    const known = new Set(rows.map((row) => row.id));
    expect(named.filter((title) => !known.has(title.id)).map(({ id, file }) => `${id} in ${file}`)).toEqual([]);
  });
});

describe("the readers of the table and of test titles", () => {
  it("read an open row, a delivered row and a bar inside a cell", () => {
    const text = [
      "| SBX-01 | a \\| b | open |",
      "| NET-02 | c | delivered: test/x.test.ts |",
      "| NET-03 | d | open: waits for a gate |",
    ].join("\n");
    expect(parseRows(text)).toEqual({
      rows: [
        { id: "SBX-01", status: "open" },
        { id: "NET-02", status: "delivered", file: "test/x.test.ts" },
        { id: "NET-03", status: "open" },
      ],
      problems: [],
    });
  });

  it("report a repeated id and an unknown status", () => {
    const text = ["| SBX-01 | a | open |", "| SBX-01 | b | open |", "| SBX-02 | c | done |"].join("\n");
    expect(parseRows(text).problems).toEqual(["SBX-01 stands twice", "SBX-02: not a status: done"]);
  });

  it("find titles in every form, and know those that do not run", () => {
    const code = `
      it("[SBX-01] plain", () => {});
      test(
        'on its own line', () => {});
      describe.each([["a)", 1]])(\`each %s\`, () => {});
      it.skipIf(!has("x"))("conditional", () => {});
      it.skip("skipped", () => {});
      wait("not a title"); suite.limit("nor this");`;
    expect(findTitles(code)).toEqual([
      { text: "[SBX-01] plain", runs: true },
      { text: "on its own line", runs: true },
      { text: "each %s", runs: true },
      { text: "conditional", runs: true },
      { text: "skipped", runs: false },
    ]);
  });

  it("take ids with and without brackets, and leave other words alone", () => {
    const ids = new Set(["SBX", "UI"]);
    expect(findIds("[SBX-01] and UI-02 keep UTF-16, SHA-256 and SBX-1", ids)).toEqual(["SBX-01", "UI-02"]);
    expect(findIds("[ZZZ-99] is named", ids)).toEqual(["ZZZ-99"]);
  });
});
