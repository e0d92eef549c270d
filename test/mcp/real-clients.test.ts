import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, root } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { inspector, pythonWithMcp } from "./clients/install.ts";

const [engine = "container"] = engines;
const inspect = await inspector();
const python = await pythonWithMcp("2.3.0");
const formerPython = await pythonWithMcp("1.30.0");
const why = (found: string | undefined) => (found === undefined ? " (left out: its registry cannot be reached)" : "");
const caisson = join(root, "caisson");
const run = promisify(execFile);

describe("real clients", () => {
  let server: TestServer;
  let token: string;
  /** For `caisson mcp`: this daemon. */
  let env: Record<string, string>;
  beforeAll(async () => {
    server = await openTestServer(engine);
    ({ token } = await server.keyring.issue({ name: "client", namespace: "default", role: "agent" }));
    const path = process.env.PATH ?? "";
    env = { PATH: path, CAISSON_URL: server.base, CAISSON_API_KEY: token, CAISSON_HOME: server.home };
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.runIf(formerPython).each(["stdio", "http"])(
    `[MCP-04] PyPI's mcp 1.x subscribes to every listed resource over %s, and is told of changes${why(formerPython)}`,
    async (transport) => {
      const target = transport === "stdio" ? [caisson, "mcp"] : [`${server.base}/mcp`];
      const script = join(import.meta.dirname, "clients/pypi-subscribe.py");
      const { stdout } = await run(formerPython ?? "", [script, ...target], { env: { ...env, KEY: token } });
      const { listed, told } = JSON.parse(stdout);
      const fixed = ["sandbox://logs", "sandbox://schemas", "sandbox://status"];
      expect(listed).toEqual(expect.arrayContaining([...fixed, expect.stringMatching(/^caisson:.*\/kept$/)]));
      expect(told).toEqual(expect.arrayContaining(["sandbox://logs", expect.stringMatching(/^caisson:.*\/kept$/)]));
      expect(told).not.toContain("sandbox://schemas");
    },
  );

  describe.each(["legacy", "modern"])("in the %s era", (era) => {
    it.runIf(inspect).each(["stdio", "http"])(
      `[MCP-01] the inspector lists and calls tools over %s${why(inspect)}`,
      async (transport) => {
        const variables = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
        const target =
          transport === "stdio"
            ? [caisson, "mcp", ...variables]
            : [`${server.base}/mcp`, "--header", `X-API-Key: ${token}`];
        const ask = async (...args: string[]) => {
          const argv = [inspect ?? "", "--cli", ...target, "--transport", transport, "--protocol-era", era];
          const home = { ...process.env, HOME: server.home };
          const { stdout } = await run(process.execPath, [...argv, "--format", "json", "-q", ...args], { env: home });
          return JSON.parse(stdout);
        };
        const { result: listed } = await ask("--method", "tools/list");
        expect(listed.tools.map(({ name }: { name: string }) => name)).toContain("execute_code");
        const { result } = await ask(
          ...["--method", "tools/call", "--tool-name", "execute_code", "--tool-arg", "code=print(6*7)"],
        );
        expect(result.structuredContent).toMatchObject({ exit_code: 0, stdout: "42\n" });
      },
    );

    it.runIf(python).each(["stdio", "http"])(
      `[MCP-01] PyPI's mcp lists and calls tools over %s${why(python)}`,
      async (transport) => {
        const target = transport === "stdio" ? [caisson, "mcp"] : [`${server.base}/mcp`];
        const mode = era === "legacy" ? "legacy" : "2026-07-28";
        const script = join(import.meta.dirname, "clients/pypi.py");
        const { stdout } = await run(python ?? "", [script, mode, ...target], { env: { ...env, KEY: token } });
        const { tools, result } = JSON.parse(stdout);
        expect(tools).toContain("execute_code");
        expect(result).toMatchObject({ exit_code: 0, stdout: "42\n" });
      },
    );
  });
});
