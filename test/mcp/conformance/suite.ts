import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestServer } from "../../http/server.ts";
import type { Era } from "../client.ts";
import { openKeyedDoor } from "../keyed-door.ts";

const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js");

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

interface Outcome {
  /** Whether all that the revision requires held. */
  passed: boolean;
  report: string;
  /** What failed of each scenario that ran. */
  failures: Map<string, string[]>;
}

/** Runs the official suite against a server's `/mcp`, or another endpoint. */
export async function runSuite(server: TestServer, era: Era, path = "/mcp"): Promise<Outcome> {
  const { token } = await server.keyring.issue({ name: "suite", namespace: "default", role: "agent" });
  await using door = await openKeyedDoor(server.base, token);
  const folder = await mkdtemp(join(tmpdir(), "conformance-"));
  const argv = [program, "server", "--url", door.url.replace("/mcp", path), "--requirements", era, "-o", folder];
  const { passed, report } = await new Promise<Omit<Outcome, "failures">>((resolve) => {
    execFile(process.execPath, argv, { maxBuffer: 64 * 1024 ** 2 }, (error, stdout, stderr) =>
      resolve({ passed: error === null, report: stdout + stderr }),
    );
  });
  const failures = new Map<string, string[]>();
  for (const name of await readdir(folder)) {
    const checks = JSON.parse(await readFile(join(folder, name, "checks.json"), "utf8")) as Check[];
    const failed = checks.filter(({ status }) => status === "FAILURE");
    failures.set(
      name.replace(/^server-(.*)-\d{4}-\d\d-\d\dT.*$/, "$1"),
      failed.map(({ id, errorMessage }) => `${id}: ${errorMessage}`),
    );
  }
  await rm(folder, { recursive: true });
  return { passed, report, failures };
}
