import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, root } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const [engine = "container"] = engines;

describe("a client of the 1.x SDK", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  it("[MCP-01] lists and calls tools over HTTP, and ends its session with its sandbox", async () => {
    const { token } = await server.keyring.issue({ name: "old", namespace: "default", role: "agent" });
    const client = new Client({ name: "old", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(`${server.base}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    });
    await client.connect(transport as Transport);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("execute_code");
    const { structuredContent } = await client.callTool({ name: "execute_code", arguments: { code: "print(6 * 7)" } });
    expect(structuredContent).toMatchObject({ stdout: "42\n" });
    const sessionKey = `mcp-${transport.sessionId}`;
    expect(await server.store.sandboxes.list({ sessionKey, limit: 2 })).toHaveLength(1);
    await transport.terminateSession();
    const left = await server.store.sandboxes.list({ sessionKey, limit: 2 });
    expect(left.filter(({ status }) => status !== "destroyed")).toEqual([]);
    await client.close();
  });

  it("[MCP-01] lists and calls tools over stdio", async () => {
    const { token } = await server.keyring.issue({ name: "old", namespace: "default", role: "agent" });
    const client = new Client({ name: "old", version: "1" });
    const own = { CAISSON_URL: server.base, CAISSON_API_KEY: token, CAISSON_HOME: server.home };
    const env = { PATH: process.env.PATH ?? "", ...own };
    await client.connect(new StdioClientTransport({ command: join(root, "caisson"), args: ["mcp"], env }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("execute_code");
    const { structuredContent } = await client.callTool({ name: "execute_code", arguments: { code: "print(6 * 7)" } });
    expect(structuredContent).toMatchObject({ stdout: "42\n" });
    await client.close();
  });
});
