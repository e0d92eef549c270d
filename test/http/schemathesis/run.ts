import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pythonWith } from "../../python-tool.ts";
import type { TestServer } from "../server.ts";

const here = import.meta.dirname;

/** Its folder; undefined where its registry cannot be reached. */
export const findSchemathesis = () => pythonWith("schemathesis", "4.32.5");

/** Holds a server against its document, with all checks, by a key of its own. What it writes down lies beside the server's data. */
export async function runSchemathesis(
  folder: string,
  server: TestServer,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const { token } = await server.keyring.issue({ name: "schemathesis", namespace: "default", role: "admin" });
  const cwd = await mkdtemp("/var/tmp/caisson-test-");
  try {
    const argv = [
      ...["--config-file", join(here, "schemathesis.toml"), "run", `${server.base}/openapi.json`],
      ...["-H", `X-API-Key: ${token}`, "--checks", "all", "--no-color", "--generation-database", "none", ...args],
    ];
    const env = { ...process.env, PYTHONPATH: here, PYTHONDONTWRITEBYTECODE: "1" };
    const child = spawn(join(folder, "bin/st"), argv, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
    const code = new Promise<number | null>((resolve) => child.once("close", resolve));
    const output = await text(child.stdout);
    return { code: await code, output };
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}
