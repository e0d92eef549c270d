/** A call of a hosted server's tool, beside the same server without a sandbox, directly and behind gateways of npm. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Caisson } from "@caisson/sdk";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Daemon, freePort } from "../daemon.ts";
import { npmPath, runProgram, surroundings } from "../program.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

const server = "@modelcontextprotocol/server-everything";
const version = "2026.8.31";
const blockRounds = 10;
const together = 16;

async function connect(url: URL, key?: string): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const requestInit = key === undefined ? {} : { headers: { "x-api-key": key } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return client;
}

/** Until it takes connections. */
async function eventually(url: URL): Promise<Client> {
  for (let tries = 0; ; tries++) {
    try {
      return await connect(url);
    } catch (error) {
      if (tries === 200) throw error;
      await sleep(100);
    }
  }
}

const call = (client: Client) => client.callTool({ name: "echo", arguments: { message: "x" } });
const block = (client: Client) => async () => {
  const samples: number[] = [];
  while (samples.length < blockRounds) samples.push(await timeMs(() => call(client)));
  return samples;
};

/** Programs of npm in a folder, as processes of the host. */
class Peers implements AsyncDisposable {
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  async install(): Promise<void> {
    const packages = [`${server}@${version}`, "mcp-proxy@6.7.19", "supergateway@4.0.0"];
    await runProgram(
      npmPath,
      ["install", "--prefix", this.#folder, "--no-audit", "--no-fund", ...packages],
      surroundings,
    );
  }

  path(name: string): string {
    return join(this.#folder, "node_modules/.bin", name);
  }

  async start(name: string, words: (port: number) => readonly string[]): Promise<Client> {
    const port = await freePort();
    const env = { PATH: `${join(process.execPath, "..")}:${process.env.PATH}`, HOME: this.#folder, PORT: String(port) };
    this.#children.push(spawn(this.path(name), words(port), { env, stdio: "ignore" }));
    return eventually(new URL(`http://127.0.0.1:${port}/mcp`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) if (child.exitCode === null && child.kill()) await once(child, "close");
  }
}

/** The budgets of hosted servers. */
export async function gateway(bench: Workbench): Promise<void> {
  const engine = "container";
  await using peers = new Peers(join(bench.home, "npm"));
  await peers.install();
  const settings = { CAISSON_MAX_STORAGE_MB: "2048" };
  await using daemon = await Daemon.start({ home: join(bench.home, engine), engine, poolSize: 0, settings });
  const { key, address } = daemon.rest;
  const { servers } = new Caisson({ url: address.origin, key });
  const deploy = async (name: string, more: object) => {
    const made = await servers.deploy({ name, source: { kind: "npm", package: server, version }, ...more });
    for await (const message of servers.buildLog(made.server.id, made.version.number))
      if (message.type === "end" && message.state !== "ready") throw new Error(`${name}: ${message.error}`);
    return new URL(made.server.endpoint);
  };
  const overHttp = await deploy("http", {
    command: ["node_modules/.bin/mcp-server-everything", "streamableHttp"],
    env: { PORT: "8000" },
  });
  const overStdio = await deploy("stdio", {});
  const program = peers.path("mcp-server-everything");
  const clients = {
    http: await connect(overHttp, key),
    stdio: await connect(overStdio, key),
    direct: await peers.start("mcp-server-everything", () => ["streamableHttp"]),
    proxy: await peers.start("mcp-proxy", (port) => [
      "--port",
      String(port),
      "--server",
      "stream",
      "--",
      program,
      "stdio",
    ]),
    supergateway: await peers.start("supergateway", (port) => [
      ...["--stdio", `${program} stdio`, "--outputTransport", "streamableHttp", "--stateful"],
      ...["--port", String(port), "--logLevel", "none"],
    ]),
  };
  const steps = [
    block(clients.http),
    block(clients.stdio),
    block(clients.direct),
    block(clients.proxy),
    block(clients.supergateway),
  ] as const;
  await interleave(3, steps);
  const [http, stdio, direct, proxy, supergateway] = await interleave(bench.options.quick ? 10 : 50, steps);
  const line = { engine, unit: "ms" } as const;
  const bare = summarize(direct);
  const bareWhat = "the same server on the host, over HTTP, without a gateway";
  const added = (samples: readonly number[]) => summarize(samples.map((ms) => ms - bare.median));
  const target = { of: "value", atMost: 5 } as const;
  bench.add({ ...line, what: "a call, server over HTTP", ours: summarize(http), bare, bareWhat });
  bench.add({ ...line, what: "added to the server alone, over HTTP", ours: added(http), target });
  bench.add({ ...line, what: "a call, server over stdio", ours: summarize(stdio), bare, bareWhat });
  bench.add({ ...line, what: "added to the server alone, over stdio", ours: added(stdio), target });
  bench.add({ ...line, engine: "host", what: "mcp-proxy, server over stdio", ours: summarize(proxy) });
  bench.add({ ...line, engine: "host", what: "supergateway, server over stdio", ours: summarize(supergateway) });
  await throughput(bench, overHttp, key);
  const wakes: number[] = [];
  for (let round = 0; round < (bench.options.quick ? 3 : 10); round++) {
    await servers.stop("http");
    wakes.push(await timeMs(async () => call(await connect(overHttp, key))));
  }
  const limit = { of: "value", atMost: 3_000 } as const;
  bench.add({ ...line, what: "first answer of a stopped server, over HTTP", ours: summarize(wakes), target: limit });
  await Promise.all(Object.values(clients).map((client) => client.close()));
}

async function throughput(bench: Workbench, url: URL, key: string): Promise<void> {
  const clients = await Promise.all(Array.from({ length: together }, () => connect(url, key)));
  const rates: number[] = [];
  for (let round = 0; round < (bench.options.quick ? 3 : 10); round++) {
    const ms = await timeMs(() =>
      Promise.all(clients.map(async (client) => [await call(client), await call(client), await call(client)])),
    );
    rates.push((together * 3_000) / ms);
  }
  const target = { of: "value", atLeast: 200 } as const;
  const what = `calls over HTTP, ${together} clients at once`;
  bench.add({ engine: "container", unit: "/s", what, ours: summarize(rates, true), target });
  await Promise.all(clients.map((client) => client.close()));
}
