import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SearchMatch, SearchOptions } from "../../packages/server/src/core/search.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { mustRun } from "./must-run.ts";

describe.each(engines)("search (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;

  const shell = (command: string) => mustRun(sandbox, command);
  async function search(path: string, options: SearchOptions): Promise<SearchMatch[]> {
    const matches: SearchMatch[] = [];
    for await (const match of sandbox.files.search(path, options)) matches.push(match);
    return matches.sort((a, b) => a.path.localeCompare(b.path) || (a.line ?? 0) - (b.line ?? 0));
  }
  async function paths(path: string, options: SearchOptions): Promise<string[]> {
    return (await search(path, options)).map((match) => match.path).sort();
  }

  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 256 * 1024 ** 2 } });
    await sandbox.files.write("odd-tree.py", await readFile(join(import.meta.dirname, "odd-tree.py")));
    await shell(`mkdir odd && python3 odd-tree.py make odd 1000
      mkdir -p t/src/deep t/doc; printf 'one\\ntwo needle here\\nthree\\nneedle again needle\\n' > t/src/a.ts
      printf 'Needle' > t/src/deep/b.TS; printf 'needle\\0needle' > t/binary; printf 'no\\n' > t/doc/c.md
      ln -s src t/link; ln -s /etc t/etc; mkfifo t/pipe; echo needle > t/shut; chmod 000 t/shut`);
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[FIL-05] finds by name, of every kind and at every depth", async () => {
    expect(await search("t", { name: "*.ts" })).toEqual([{ path: "src/a.ts", type: "file" }]);
    expect(await paths("t", { name: "*.ts", ignoreCase: true })).toEqual(["src/a.ts", "src/deep/b.TS"]);
    expect(await search("t", { name: "[pl]i*" })).toEqual([
      { path: "link", type: "link" },
      { path: "pipe", type: "other" },
    ]);
    expect(await paths("t", { name: "src/*" })).toEqual(["src/a.ts", "src/deep", "src/deep/b.TS"]);
    expect(await paths("t", { name: "nothing" })).toEqual([]);
  });

  it("[FIL-05] finds by content: the line, its number and the column of its first match", async () => {
    expect(await search("t", { text: "needle" })).toEqual([
      { path: "src/a.ts", type: "file", line: 2, column: 5, text: "two needle here" },
      { path: "src/a.ts", type: "file", line: 4, column: 1, text: "needle again needle" },
    ]);
    expect(await paths("t", { text: "nEEDLE", ignoreCase: true })).toEqual(["src/a.ts", "src/a.ts", "src/deep/b.TS"]);
    expect(await paths("t", { text: "needle", name: "*.md" })).toEqual([]);
    expect(await paths("t", { text: "needle", binary: true })).toEqual(["binary", "src/a.ts", "src/a.ts"]);
  });

  it("[FIL-05] follows no link, opens no FIFO, and has the user's rights", async () => {
    expect(await paths("t", { text: "root:" })).toEqual([]);
    expect(await paths("t", { name: "passwd" })).toEqual([]);
    expect(await paths("t", { text: "needle", name: "shut" })).toEqual([]);
    for (const path of ["/etc", "..", "t/etc"])
      await expect(search(path, { name: "*" })).rejects.toMatchObject({ code: "forbidden" });
    await expect(search("nowhere", { name: "*" })).rejects.toMatchObject({ code: "not_found" });
  });

  it("[FIL-05] a thousand files of odd names and kinds", async () => {
    const all = sandbox.files.search("odd", { name: "*", limit: 10_000 });
    let count = 0;
    for await (const match of all) count += match.path.length > 0 ? 1 : 0;
    const listed = await sandbox.files.list("odd", { recursive: true });
    expect(count).toBe(listed.length);
    expect(all.summary).toEqual({ matches: count, filesRead: 0, truncated: false });
    const names = new Set(listed.map((row) => row.name));
    const found = await search("odd", { text: "line 4", limit: 10_000 });
    const grep = (await shell("grep -rIl --null 'line 4' odd | tr -dc '\\0' | wc -c")).trim();
    expect(new Set(found.map((match) => match.path)).size).toBe(Number(grep));
    for (const match of found) expect(names).toContain(match.path);
  });

  it("[FIL-05] finds what lies across the worker's buffers, in lines of any length", async () => {
    await shell(`python3 - <<'END'
for shift in range(-12, 3):
    with open("edge%d" % shift, "wb") as file:
        file.write(b"a\\n" + b"x" * (262144 - 2 + shift) + b"needle" + b"y" * 300000 + b"needle\\n" + b"needle\\n")
with open("lines", "wb") as file:
    file.write(b"needle in a line of some length\\n" * 30000)
END`);
    for (let shift = -12; shift < 3; shift++) {
      const [first, second, ...more] = await search("", { text: "needle", name: `edge${shift}` });
      expect(first).toMatchObject({ line: 2, column: 262144 - 2 + shift + 1 });
      expect(first?.text).toMatch(/^x{64}needley+$/);
      expect(second).toMatchObject({ line: 3, column: 1, text: "needle" });
      expect(more).toEqual([]);
    }
    const lines = await search("", { text: "needle", name: "lines", limit: 100_000 });
    expect(lines).toHaveLength(30_000);
    for (const [i, match] of lines.entries())
      if (match.line !== i + 1 || match.text !== "needle in a line of some length") expect(match).toBe(i);
  });

  it("[FIL-05] ends at its limits and says so; a reader may leave early", async () => {
    const few = sandbox.files.search("odd", { name: "*", limit: 5 });
    let count = 0;
    for await (const _ of few) count++;
    expect(count).toBe(5);
    expect(few.summary).toMatchObject({ matches: 5, truncated: true });
    await shell("mkdir sparse; truncate -s 1T sparse/file");
    const sparse = sandbox.files.search("sparse", { text: "x", binary: true });
    for await (const _ of sparse) count++;
    expect(sparse.summary).toEqual({ matches: 0, filesRead: 0, truncated: true });
    for await (const _ of sandbox.files.search("odd", { name: "*" })) break;
    expect(await shell("echo alive")).toBe("alive\n");
  });

  it.each([
    {},
    { name: "" },
    { text: "" },
    { text: "a\nb" },
    { text: "a\0" },
    { text: "x".repeat(2000) },
    { name: "*", limit: 0 },
    { name: "*", limit: 1e9 },
    { name: "x".repeat(5000) },
  ])("[FIL-05] refuses what cannot be searched for: %j", (options) => {
    expect(() => sandbox.files.search("t", options)).toThrow(expect.objectContaining({ code: "invalid" }));
  });
});
