import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { supervisionLimits } from "../../packages/server/src/supervision/limits.ts";
import { engines, root } from "../harness.ts";
import { openTestServer } from "../http/server.ts";

interface Entries {
  mcpServers: { caisson: { url: string; headers: Record<string, string> } };
}

it("[MCP-09] docs/mcp.md has an entry by which a client connects over HTTP", async () => {
  const page = await readFile(join(root, "docs/mcp.md"), "utf8");
  const block = /```json\n(\{\n {2}"mcpServers"[\s\S]*?)```/.exec(page)?.[1] ?? "";
  await using server = await openTestServer(engines[0] ?? "container");
  const { token } = await server.keyring.issue({ name: "reader", namespace: "default", role: "agent" });
  const usual = `http://127.0.0.1:${supervisionLimits.port.default}`;
  expect(block).toContain(`"${usual}/mcp"`);
  const { caisson } = (JSON.parse(block.replace(usual, server.base).replace("KEY", token)) as Entries).mcpServers;
  const client = new Client({ name: "reader", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(caisson.url), { requestInit: { headers: caisson.headers } }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("execute_code");
  await client.close();
});
