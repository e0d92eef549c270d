import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root, seed } from "../harness.ts";

const corpora = join(root, "native/fuzz/corpus");
const targets = await readdir(corpora);

/** How a program ended, and what it said. */
function run(program: string, ...words: string[]): Promise<{ code: number | string; text: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number | string; text: string }>();
  execFile(program, words, { cwd: root }, (error, stdout, stderr) =>
    resolve({ code: error === null ? 0 : (error.code ?? -1), text: stdout + stderr }),
  );
  return promise;
}
const fuzz = (...words: string[]) => run(join(root, ".build/bin/caisson-fuzz"), ...words);

describe("the guest's parsers", () => {
  let folder: string;
  beforeAll(async () => {
    expect(await run("sh", "native/build.sh", "fuzz")).toMatchObject({ code: 0 });
    folder = await mkdtemp("/var/tmp/caisson-fuzz-");
  }, 120_000);
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it.each(targets)("bear every input of the corpus (%s)", async (target) => {
    const names = await readdir(join(corpora, target));
    const { code, text } = await fuzz(target, join(corpora, target));
    expect(text).toContain(`fuzz: ${names.length} inputs replayed`);
    expect({ code, text }).toMatchObject({ code: 0 });
  });

  it.each(targets)("have a corpus that is quick to fetch and to run (%s)", async (target) => {
    const names = await readdir(join(corpora, target));
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(corpora, target, name))).size));
    expect(names.length).toBeLessThan(100);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200 * 1024);
  });

  it("would not bear a mistake: it is found, told and saved", async () => {
    await writeFile(join(folder, "start"), "A?");
    const good = await fuzz("mistake", folder);
    expect(good).toMatchObject({ code: 0, text: "fuzz: 1 inputs replayed\n" });
    await writeFile(join(folder, "bad"), "Az");
    const bad = await fuzz("mistake", folder);
    expect(bad).toMatchObject({ code: 1, text: expect.stringMatching(/mistake\.c[\s\S]*bad failed/) });
    await rm(join(folder, "bad"));
    const searched = await fuzz("mistake", folder, "600", String(seed), folder);
    expect(searched).toMatchObject({ code: 1, text: expect.stringMatching(/saved .*failure-/) });
  });
});
