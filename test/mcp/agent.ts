import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect } from "vitest";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient } from "./client.ts";
import { refusalOf, resultOf } from "./results.ts";

/** A server and an agent at its door, for the tests of one block; the server has no error of its own to tell in the end. */
export function agentAt(engine: EngineName) {
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    server = await openTestServer(engine);
    client = await connectClient(server, "2026-07-28");
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });
  const call = (name: string, given: object = {}) => client.callTool({ name, arguments: { ...given } });
  return {
    server: () => server,
    client: () => client,
    done: async (name: string, given: object = {}) => resultOf(await call(name, given)),
    refused: async (name: string, given: object = {}) => refusalOf(await call(name, given)),
  };
}
