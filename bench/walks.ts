import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { publicWorld, webHost } from "../test/egress/hosts.ts";
import type { Api } from "../test/http/api.ts";
import { openTestServer } from "../test/http/server.ts";
import { connectClient } from "../test/mcp/client.ts";
import { root } from "./native-programs.ts";

const sources = "packages/server/src/";
const pauseMs = 20;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Counts which functions of the server run, by V8's own coverage. It does not see the store's thread. */
class Footprints implements Disposable {
  readonly #session = new Session();
  /** Files that run when nobody asks for anything. */
  #idle: ReadonlySet<string> = new Set();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await this.of(() => pause(10 * pauseMs));
    this.#idle = new Set(await this.of(() => pause(10 * pauseMs)));
  }

  /** The source files of the server in which a function ran meanwhile. */
  async of(act: () => Promise<unknown>): Promise<string[]> {
    await this.#session.post("Profiler.takePreciseCoverage");
    await act();
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    return result
      .filter(({ functions }) => functions.some((one) => one.functionName !== "" && (one.ranges[0]?.count ?? 0) > 0))
      .filter(({ url }) => url.startsWith("file:"))
      .map(({ url }) => relative(root, fileURLToPath(url)))
      .filter((path) => path.startsWith(sources))
      .map((path) => path.slice(sources.length))
      .filter((path) => !this.#idle.has(path))
      .sort();
  }

  [Symbol.dispose](): void {
    this.#session.disconnect();
  }
}

/** Says yes to the first question about a connection. */
async function answerQuestion(operator: Api): Promise<void> {
  for (;;) {
    const { json } = await operator.get("/api/v1/approvals?state=pending&kind=egress");
    const [asked] = json;
    if (asked !== undefined) {
      await operator.post(`/api/v1/approvals/${asked.id}/decide`, { approve: true, scope: "sandbox" });
      return;
    }
    await pause(pauseMs);
  }
}

const host = await webHost();
const server = await openTestServer("container", { world: publicWorld(() => host.port) });
using footprints = new Footprints();
try {
  const agent = await server.as("agent");
  const operator = await server.as("operator");
  await operator.send("PUT", "/api/v1/egress/policy", { json: { unknown: "ask" } });
  const id = await agent.create({ engine: "container" });
  const path = `/api/v1/sandboxes/${id}`;
  const exec = (command: string) => agent.post(`${path}/exec`, { command, timeout_seconds: 60 });
  const client = await connectClient(server, "2026-07-28");
  const code = { session_id: "walk", stateful: false, code: "print(1)", language: "python" };
  const executeCode = () => client.callTool({ name: "execute_code", arguments: code });
  const walks: Record<string, () => Promise<unknown>> = {
    exec: () => exec("true"),
    "a connection that is asked about (exec left out)": async () => {
      const connect = "exec 3<>/dev/tcp/asked.example.com/80; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
      await Promise.all([exec(connect), answerQuestion(operator)]);
    },
    "execute_code over MCP": executeCode,
  };
  await exec("true");
  await executeCode();
  await footprints.start();
  const seen = new Set<string>();
  for (const [name, act] of Object.entries(walks)) {
    const files = await footprints.of(act);
    const own = name.startsWith("a connection") ? files.filter((file) => !seen.has(file)) : files;
    if (name === "exec") for (const file of files) seen.add(file);
    console.log(`${name}: ${own.length} files\n${own.map((file) => `  ${file}`).join("\n")}`);
  }
  await client.close();
} finally {
  await server[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
}
