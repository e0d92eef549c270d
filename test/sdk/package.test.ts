import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../harness.ts";

let folder: string;
let user: string;

const run = (program: string, args: readonly string[], cwd: string) =>
  promisify(execFile)(program, args, { cwd, env: { PATH: process.env.PATH, HOME: folder } });

/** In the project of somebody who has the package, whose types are judged too. */
async function judge(code: string): Promise<string> {
  await writeFile(join(user, "main.ts"), code);
  const options = { target: "esnext", module: "nodenext", lib: ["esnext", "dom", "dom.iterable"], types: [] };
  const compilerOptions = { ...options, strict: true, exactOptionalPropertyTypes: true, noEmit: true };
  await writeFile(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }));
  const checked = run(join(root, "node_modules/.bin/tsc"), ["-p", user], user);
  return checked.then(
    () => "fine",
    ({ stdout }) => stdout,
  );
}

describe("the SDK as a package", () => {
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-package-");
    user = join(folder, "user");
    await mkdir(user);
    await run(process.execPath, [join(root, "scripts/build-sdk.mjs"), join(folder, "sdk")], folder);
    const { stdout } = await run("npm", ["pack", "./sdk", "--silent"], folder);
    await writeFile(join(user, "package.json"), '{ "type": "module" }');
    await run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, stdout.trim())], user);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("[API-05] is installed without a network, and loads where Node strips no types", async () => {
    const code = `import { ApiError, Caisson } from "@caisson/sdk";
      import { LocalError, openLocal } from "@caisson/sdk/local";
      const caisson = new Caisson({ url: "http://127.0.0.1:9", retries: 0 });
      const error = await caisson.stats().catch((error) => error.name);
      const none = await openLocal({ home: "/nowhere", variables: {} }).catch((error) => error instanceof LocalError);
      console.log(typeof ApiError, error, none);`;
    const { stdout } = await run(process.execPath, ["--no-strip-types", "--input-type=module", "-e", code], user);
    expect(stdout).toBe("function ConnectionError true\n");
  });

  it("brings its types, also to who checks those of libraries", async () => {
    const use = (memory: string, field: string) => `import { Caisson, type RunResult } from "@caisson/sdk";
      import { openLocal } from "@caisson/sdk/local";
      const caisson: Caisson = await openLocal({ priority: 1 });
      await using sandbox = await caisson.createSandbox({ memory_mb: ${memory} });
      const result: RunResult = await sandbox.exec("true");
      export const code: number = result.${field};
      for await (const message of sandbox.execStream("true")) if (message.type === "result") message.exit_code.toFixed();
    `;
    expect(await judge(use("256", "exit_code"))).toBe("fine");
    expect(await judge(use('"256"', "exit_code"))).toContain("TS2322");
    expect(await judge(use("256", "exit"))).toContain("TS2339");
  });
});
