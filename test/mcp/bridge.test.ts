import { randomBytes } from "node:crypto";
import type { Client } from "@modelcontextprotocol/client";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { mcpRoutes } from "../../packages/server/src/http/mcp.ts";
import { McpEndpoint } from "../../packages/server/src/mcp/endpoint.ts";
import { Changes } from "../../packages/server/src/mcp-protocol/changes.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { type Era, eras } from "./client.ts";
import { fixturePushes } from "./conformance/pushes.ts";
import { fixtureQuestions } from "./conformance/questions.ts";
import { fixtureResources } from "./conformance/resources.ts";
import { fixtureTools } from "./conformance/tools.ts";
import { connectStdio, crowd, initialize, openStdioHome, tellRaw } from "./stdio-program.ts";

const [engine = "container"] = engines;

async function connect(server: TestServer, era: Era, capabilities: object = {}, tools = "all") {
  const { token } = await server.keyring.issue({ name: "stdio", namespace: "default", role: "agent" });
  const variables = { CAISSON_URL: server.base, CAISSON_API_KEY: token, CAISSON_HOME: server.home };
  const { client, transport, told } = await connectStdio(variables, era, {
    capabilities,
    args: ["mcp", "--tools", tools],
  });
  await client.connect(transport);
  return { client, told };
}

const run = async (client: Client, code: string) =>
  (await client.callTool({ name: "execute_code", arguments: { code } })).structuredContent;

describe("caisson mcp with a daemon", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  it("[S84] refuses a message that would keep a parser busy, and passes the next one on", async () => {
    const { token } = await server.keyring.issue({ name: "raw", namespace: "default", role: "agent" });
    const variables = { CAISSON_URL: server.base, CAISSON_API_KEY: token, CAISSON_HOME: server.home };
    const told = await tellRaw(variables, [crowd, initialize]);
    expect(told).toMatchObject([
      { id: null, error: { code: -32_700, message: expect.stringContaining("values and names") } },
      { id: 1 },
    ]);
  });

  describe.each(eras)("for a client of %s", (era) => {
    it("[MCP-01] runs tools in a session of this process, which ends with it", async () => {
      const { client, told } = await connect(server, era);
      expect(client.getNegotiatedProtocolVersion()).toBe(era);
      await run(client, "open('a', 'w').write('kept')");
      expect(await run(client, "print(open('a').read())")).toMatchObject({ stdout: "kept\n" });
      const living = () => server.store.sandboxes.living();
      expect(await living()).toHaveLength(1);
      await client.close();
      await vi.waitFor(async () => expect(await living()).toEqual([]), 20_000);
      expect(told()).toBe("");
    });

    it("carries progress, and cancels what the client no longer waits for", async () => {
      const { client } = await connect(server, era);
      const told: string[] = [];
      const cancel = new AbortController();
      const code = "print('going', flush=True)\nimport time\ntime.sleep(600)";
      const calling = client.callTool(
        { name: "execute_code", arguments: { code } },
        {
          signal: cancel.signal,
          onprogress: ({ message = "" }) => {
            told.push(message);
            cancel.abort();
          },
        },
      );
      await expect(calling).rejects.toThrow();
      expect(told.join("")).toBe("going\n");
      await vi.waitFor(() => expect(server.fleet.queue().running).toBe(0), 20_000);
      expect(await run(client, "print('next')")).toMatchObject({ stdout: "next\n" });
      await client.close();
    });

    it("has the sets of tools that it was told", async () => {
      const { client } = await connect(server, era, {}, "core");
      const few = (await client.listTools()).tools.length;
      await client.close();
      const other = await connect(server, era, {}, "all");
      expect((await other.client.listTools()).tools.length).toBeGreaterThan(few);
      await other.client.close();
    });
  });
});

describe("what a server asks and tells by itself, through caisson mcp", () => {
  let server: TestServer;
  beforeAll(async () => {
    const changes = new Changes();
    const seal = createRequestStateCodec({ key: randomBytes(32) });
    const endpoint = new McpEndpoint({
      version: "0.0.0",
      offers: [fixtureTools(changes), fixtureQuestions(seal), fixturePushes, fixtureResources],
      verify: seal.verify,
      changes,
      follow: async () => () => undefined,
      sets: ["core"],
      endSession: async () => undefined,
      onError: (error) => void server.errors.push(error),
    });
    server = await openTestServer(engine, { routes: mcpRoutes(endpoint) });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each([
    ["2025-11-25", "test_elicitation", { username: "ada", email: "a@example.org" }],
    ["2026-07-28", "test_input_required_result_elicitation", { name: "ada" }],
  ] as const)("is answered by a client of %s", async (era, name, content) => {
    const { client } = await connect(server, era, { elicitation: {} });
    client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content }));
    const found = await client.callTool({ name, arguments: {} });
    expect(JSON.stringify(found.content)).toContain("ada");
    await client.close();
  });

  it.each(eras)("reaches a client of %s that listens", async (era) => {
    const { client } = await connect(server, era);
    let changed = 0;
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      changed += 1;
    });
    if (era === "2026-07-28") await client.listen({ toolsListChanged: true });
    // Its stream may open after the first change.
    await vi.waitFor(async () => {
      await client.callTool({ name: "test_trigger_tool_change", arguments: {} });
      expect(changed).toBeGreaterThan(0);
    }, 20_000);
    await client.close();
  });
});

it("caisson mcp answers for a daemon that cannot be reached, and ends in order", async () => {
  await using place = await openStdioHome("container");
  const variables = { ...place.variables, CAISSON_URL: "http://127.0.0.1:1", CAISSON_API_KEY: "csn_none" };
  const { client, transport } = await connectStdio(variables, "2025-11-25");
  await expect(client.connect(transport)).rejects.toThrow("the daemon did not answer");
  await client.close();
});
