import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import type { ServerEra } from "../../packages/server/src/core/server.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { type HostedTest, hosted, httpProgram, type Start, stdioProgram, TestPool } from "./test-pool.ts";

const program = join(import.meta.dirname, "fixture-server.ts");

/** The fixture, in a process of its own. */
export function fixtureServer(era: ServerEra, transport: "stdio" | "http", name = "1", namespace?: string): HostedTest {
  return hosted(era, transport, startFixture(transport, name), namespace);
}

export function startFixture(transport: "stdio" | "http", name = "1"): Start {
  return transport === "stdio" ? stdioProgram(program, "stdio", name) : httpProgram(program, "http", name);
}

export interface GatewayTest extends AsyncDisposable {
  server: TestServer;
  pool: TestPool;
  url(hosted: HostedTest): URL;
  token(options?: { namespace?: string }): Promise<string>;
}

/** A daemon's doors over servers of the test. */
export async function openGateway(servers: readonly HostedTest[], options: object = {}): Promise<GatewayTest> {
  const pool = new TestPool(servers);
  const server = await openTestServer(engines[0] ?? "container", { hosted: { serverPool: pool }, ...options });
  return {
    server,
    pool,
    url: ({ id }) => new URL(`${server.base}/sandbox/${id}/mcp`),
    token: async ({ namespace = "default" } = {}) =>
      (await server.keyring.issue({ name: "client", namespace, role: "agent" })).token,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      pool[Symbol.dispose]();
    },
  };
}

/** A client of the official SDK, with the fields of S0's configuration. */
export async function connectTo(
  url: URL,
  token: string,
  era: ServerEra | "auto",
  capabilities: object = {},
  prepare: (client: Client) => void = () => undefined,
): Promise<Client> {
  const mode = era === "modern" ? { pin: "2026-07-28" } : era;
  const client = new Client({ name: "test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  prepare(client);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { "X-API-Key": token } } }));
  return client;
}

/** Text of a tool's result. */
export async function callText(client: Client, name: string, given: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: given });
  return (content as { text: string }[]).map(({ text }) => text).join("\n");
}

/** As `expect.poll`, with time for a machine that is busy. */
export const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 15_000, interval: 20 });
