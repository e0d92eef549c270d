import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findExamples } from "../examples.ts";
import { engines, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

const examples = findExamples(await readFile(join(root, "docs/library.md"), "utf8"));
let folder: string;
let home: string;

beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-docs-");
  home = join(folder, "home");
  await mkdir(join(folder, "node_modules/@caisson"), { recursive: true });
  await symlink(join(root, "packages/server"), join(folder, "node_modules/@caisson/server"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
});
afterAll(async () => {
  expect(findLeaks(home)).toEqual([]);
  await rm(folder, { recursive: true });
});

function runExample(file: string, variables: Record<string, string>): Promise<string> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"));
  const env = { ...Object.fromEntries(others), CAISSON_HOME: home, CAISSON_MAX_STORAGE_MB: "64", ...variables };
  return new Promise((resolve) => {
    execFile(process.execPath, [file], { env, cwd: folder }, (error, stdout, stderr) =>
      resolve(error === null ? stdout : `${stdout}\n${stderr}`),
    );
  });
}

it("[API-06] the example of README.md gives what its comments say", async () => {
  const page = await readFile(join(root, "README.md"), "utf8");
  const code = findExamples(page)[0]?.code ?? "";
  const said: string[] = [];
  /** A remark that is a value becomes a print of what has it: `// value === "…"`, or `expression; // "…"`. */
  const printing = code.replace(/^(.*);\s*\/\/ (?:(\S+) === )?(".*")$/gm, (_, line, name, value) => {
    said.push(`${value}\n`);
    return name === undefined
      ? `console.log(JSON.stringify(${line}));`
      : `${line}; console.log(JSON.stringify(${name}));`;
  });
  expect(said).toHaveLength(2);
  const file = join(folder, "readme.ts");
  await writeFile(file, printing);
  expect(await runExample(file, {})).toBe(said.join(""));
});

describe("docs/library.md", () => {
  it("has examples", () => {
    expect(examples.length).toBeGreaterThanOrEqual(8);
  });

  describe.each(engines)("on %s", (engine) => {
    it.each(examples.map(({ section, ...example }, at) => [at, section, example] as const))(
      "[API-06] example %i, of '%s', prints what the page says",
      async (at, _section, { code, output }) => {
        const file = join(folder, `example-${at}.ts`);
        await writeFile(file, code);
        expect(await runExample(file, { CAISSON_ENGINE: engine })).toBe(output);
      },
    );
  });
});
