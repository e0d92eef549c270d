/** Servers that strangers wrote, as they are: the table of docs/servers.md. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callText, connectTo } from "../gateway/fixture.ts";
import { root, soak } from "../harness.ts";
import { canHost, type Hosting, openHosting, writeFiles } from "./hosting.ts";

interface Case {
  name: string;
  /** Words of `caisson deploy`. */
  words: readonly string[];
  tools: number;
  /** Calls, with what their text must match. */
  calls: readonly (readonly [tool: string, given: Record<string, unknown>, text: RegExp])[];
  /** In every test run; the others in a soak. */
  isSampled?: boolean;
}

const npm = (name: string) => `npm:@modelcontextprotocol/server-${name}@2026.8.31`;
const graph = { entities: [{ name: "Caisson", entityType: "box", observations: ["holds"] }] };
const thought = { thought: "one", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };

const cases: readonly Case[] = [
  {
    ...{ name: "everything", words: [npm("everything")], tools: 13, isSampled: true },
    calls: [
      ["echo", { message: "hi" }, /^Echo: hi$/],
      ["get-sum", { a: 2, b: 3 }, /5/],
    ],
  },
  {
    name: "filesystem",
    words: [npm("filesystem"), "--command", "node_modules/.bin/mcp-server-filesystem /data"],
    tools: 14,
    calls: [
      ["write_file", { path: "/data/note.txt", content: "kept" }, /Success/],
      ["read_text_file", { path: "/data/note.txt" }, /^kept$/],
    ],
  },
  {
    ...{ name: "memory", words: [npm("memory"), "--env", "MEMORY_FILE_PATH=/data/memory.json"], tools: 9 },
    calls: [
      ["create_entities", graph, /Caisson/],
      ["read_graph", {}, /holds/],
    ],
  },
  { name: "thinking", words: [npm("sequential-thinking")], tools: 1, calls: [["sequentialthinking", thought, /./]] },
  { name: "fetch", words: ["pypi:mcp-server-fetch@2026.10.24"], tools: 1, calls: [] },
  {
    ...{ name: "time", words: ["pypi:mcp-server-time@2026.10.19"], tools: 2 },
    calls: [["get_current_time", { timezone: "Europe/Vienna" }, /Europe\/Vienna/]],
  },
  {
    ...{ name: "git", words: ["pypi:mcp-server-git@2026.10.19"], tools: 12 },
    calls: [["git_status", { repo_path: "/data" }, /./]],
  },
];

const current = `
from mcp.server import MCPServer

mcp = MCPServer("current")

@mcp.tool()
async def double(number: int) -> int:
    """Doubles a number."""
    return number * 2

if __name__ == "__main__":
    mcp.run("streamable-http", host="0.0.0.0", port=8000)
`;

describe.skipIf(!canHost)("servers of others, unmodified", () => {
  let hosting: Hosting;
  let key: string;
  beforeAll(async () => {
    hosting = await openHosting("container");
    key = await hosting.key("operator");
  }, 600_000);
  afterAll(() => hosting[Symbol.asyncDispose](), 120_000);

  it.each(cases.filter(({ isSampled }) => soak || isSampled === true))(
    "[HOS-01] [HOS-04] $name is deployed by its name and answers",
    async ({ name, words, tools, calls }) => {
      const server = await hosting.deploy(key, ...words, "--name", name);
      const client = await connectTo(new URL(server.endpoint), key, "auto");
      expect((await client.listTools()).tools.length).toBe(tools);
      for (const [tool, given, text] of calls) expect(await callText(client, tool, given), tool).toMatch(text);
      await client.close();
    },
    300_000,
  );

  it.runIf(soak)(
    "[HOS-01] a server of the Python SDK 2 is deployed from a folder and answers",
    async () => {
      await writeFiles(hosting.folder, { "server.py": current, "requirements.txt": "mcp>=2,<3\n" });
      const server = await hosting.deploy(key, ".", "--name", "current");
      const client = await connectTo(new URL(server.endpoint), key, "auto");
      expect(await callText(client, "double", { number: 21 })).toMatch(/^42$/);
      await client.close();
    },
    300_000,
  );

  it("[HOS-09] a client of the TypeScript SDK 1 calls a server over its endpoint", async () => {
    const { endpoint } = await hosting.sdk(key).servers.get("everything");
    const client = new OldClient({ name: "test", version: "1" });
    await client.connect(new OldTransport(new URL(endpoint), { requestInit: { headers: { "X-API-Key": key } } }));
    const { content } = await client.callTool({ name: "echo", arguments: { message: "old" } });
    expect(content).toEqual([{ type: "text", text: "Echo: old" }]);
    await client.close();
  }, 60_000);

  it("are listed in the documentation", async () => {
    const page = await readFile(join(root, "docs/servers.md"), "utf8");
    for (const { words } of cases) expect(page).toContain((words[0] ?? "").replace(/@[^@]*$/, ""));
  });
});
