import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findExamples } from "../examples.ts";
import { root } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const examples = findExamples(await readFile(join(root, "docs/sdk.md"), "utf8"));

describe("docs/sdk.md", () => {
  let server: TestServer;
  let folder: string;
  let key: string;
  beforeAll(async () => {
    server = await openTestServer("container");
    key = (await server.keyring.issue({ name: "docs", namespace: "default", role: "admin" })).token;
    folder = await mkdtemp("/var/tmp/caisson-docs-");
    await mkdir(join(folder, "node_modules/@caisson"), { recursive: true });
    await symlink(join(root, "packages/sdk"), join(folder, "node_modules/@caisson/sdk"));
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
    await server[Symbol.asyncDispose]();
  });

  function runExample(file: string): Promise<string> {
    const env = { PATH: process.env.PATH, CAISSON_URL: server.base, CAISSON_API_KEY: key };
    return new Promise((resolve) => {
      execFile(process.execPath, [file], { env, cwd: folder }, (error, stdout, stderr) =>
        resolve(error === null ? stdout : `${stdout}\n${stderr}`),
      );
    });
  }

  it("has examples", () => expect(examples.length).toBeGreaterThanOrEqual(5));

  it.each(examples.map(({ section, ...example }, at) => [at, section, example] as const))(
    "[API-05] example %i, of '%s', prints what the page says",
    async (at, _section, { code, output }) => {
      const file = join(folder, `example-${at}.ts`);
      await writeFile(file, code);
      expect(await runExample(file)).toBe(output);
    },
  );
});
