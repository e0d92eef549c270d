import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, soak } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { pythonWith } from "../python-tool.ts";

const folder = await pythonWith("inspect_ai", "0.3.285");
const why = folder === undefined ? " (left out: its registry cannot be reached)" : "";

/** Both take longer than other tests beside them can spare: a soak has both. */
const chosen = soak ? engines : engines.slice(-1);

/** Another user than the sandbox's own, which Caisson has not. */
const notOffered = ["test_exec_as_user"];

describe.runIf(folder)("inspect_ai's checks of a sandbox", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engines[0] ?? "container");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.concurrent.each(chosen)(
    `hold on %s, but for other users${why}`,
    async (engine) => {
      const { token } = await server.keyring.issue({ name: engine, namespace: "default", role: "agent" });
      const env = { PATH: process.env.PATH, URL: server.base, KEY: token, PYTHONDONTWRITEBYTECODE: "1" };
      const argv = [join(import.meta.dirname, "self_check.py"), engine];
      const { stdout } = await promisify(execFile)(join(folder ?? "", "bin/python"), argv, { env });
      const results: Record<string, string | null> = JSON.parse(stdout);
      expect(Object.keys(results)).toHaveLength(44);
      const failed = Object.entries(results).filter(([, error]) => error !== null);
      expect(failed.filter(([name]) => !notOffered.includes(name))).toEqual([]);
      expect(failed.map(([name]) => name)).toEqual(notOffered);
    },
    120_000,
  );
});
