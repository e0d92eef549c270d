import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = resolve("scripts/comment-starts.mjs");
let root: string;

/** Runs the check in the folder; resolves with its exit code and what it printed. */
function check(...words: string[]): { code: number | null; said: string } {
  const done = spawnSync(process.execPath, [script, ...words], { cwd: root, encoding: "utf8" });
  return { code: done.status, said: done.stderr };
}

async function write(path: string, ...starts: string[]): Promise<void> {
  await writeFile(join(root, path), starts.map((start) => `/** ${start} */\nconst a = 1;\n`).join(""));
}

const record = (text: string) => writeFile(join(root, "scripts/comment-starts.txt"), text);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "caisson-comments-"));
  for (const folder of ["scripts", "packages", "test"]) await mkdir(join(root, folder));
  await record("packages: a.ts 2\n");
});

afterEach(() => rm(root, { recursive: true }));

describe("doc comments that begin with a pronoun or a preposition", () => {
  it("pass where they are recorded, and are refused past the recorded number", async () => {
    await write("packages/a.ts", "What it is.", "Of the sandbox.", "Removes it.");
    expect(check()).toEqual({ code: 0, said: "" });
    await write("packages/a.ts", "What it is.", "Of the sandbox.", "Whether it runs.");
    expect(check()).toMatchObject({ code: 1, said: expect.stringMatching(/^packages\/a\.ts: 3 .*allowed: 2\n$/) });
  });

  it("are refused in a new file, in TypeScript, C and Python", async () => {
    await write("packages/b.ts", "Whoever asks.");
    await write("packages/c.h", "Where it lies.");
    await writeFile(join(root, "packages/d.py"), '"""That is it."""\n');
    const { code, said } = check();
    expect([code, said.split("\n").map((line) => line.split(":")[0])]).toEqual([
      1,
      ["packages/b.ts", "packages/c.h", "packages/d.py", ""],
    ]);
  });

  it("move with their file", async () => {
    await write("packages/a.ts", "What it is.");
    await rename(join(root, "packages/a.ts"), join(root, "test/a.ts"));
    expect(check().code).toBe(0);
  });

  it("are recorded in lower numbers, and never in higher ones", async () => {
    await write("packages/a.ts", "What it is.");
    await write("packages/b.ts", "Whose it is.");
    expect(check("--record").code).toBe(1);
    expect(await readFile(join(root, "scripts/comment-starts.txt"), "utf8")).toBe("packages: a.ts 1\n");
  });
});
