import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import type { HostSettings } from "../../packages/server/src/core/host-access.ts";
import { noRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { toolSets } from "../../packages/server/src/tools/tool.ts";
import { tools, toolsOf } from "../../packages/server/src/tools/tools.ts";
import { publicWorld, type WebHost, webHost } from "../egress/hosts.ts";
import { engines, ordinary } from "../harness.ts";
import { Folder, handWith, nothing } from "../host-access/hand.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { archive } from "../sandbox/tar-bytes.ts";
import { findNoHeadlessShell } from "../web/headless-shell.ts";
import { resultPages } from "../web/result-pages.ts";
import { connectClient } from "./client.ts";
import { lastingPart, readExamples, readSet, withoutAny } from "./doc-examples.ts";
import { cliLane, commandLine, type Lane, mcpLane, sdkLane, splitWords } from "./lanes.ts";

const [engine = "container"] = engines;
const examples = readExamples();
const noBrowser = findNoHeadlessShell();
/** As an ordinary user no memory is saved. */
const shownHere = examples
  .filter(({ tool }) => !(ordinary && tool.endsWith("_checkpoint")))
  .filter(({ tool }) => !(noBrowser !== undefined && tool === "browser_fetch"));
const shared = "/srv/shared";
const storedSkill = archive(
  {
    name: "SKILL.md",
    body: "---\nname: word-count\nversion: 1.2\ndescription: Counts words.\n---\nRun ./count FILE.\n",
  },
  { name: "count", body: '#!/bin/sh\nwc -w <"$1"\n', mode: 0o755 },
);
const page = "<title>A page</title><p>Its text.</p>";

/** Each way has a namespace of its own, and so the same sessions under the same names. */
const lanes = ["mcp", "sdk", "cli", "verbs"] as const;

describe("docs/tools.md", () => {
  let server: TestServer;
  let web: WebHost;
  const clients: Client[] = [];
  const folders = new Map<string, Folder>();
  const keys = new Map<string, string>();
  const calls = new Map<string, Lane>();

  beforeAll(async () => {
    web = await webHost({
      answer: ({ url = "" }, response) => {
        if (url.startsWith("/search"))
          response.setHeader("content-type", "application/json").end(resultPages.searxng.results);
        else response.setHeader("content-type", "text/html").end(page);
      },
    });
    const folder = await Folder.make();
    for (const lane of lanes) folders.set(lane, folder);
    const host: HostSettings = {
      ...nothing,
      allow: ["echo *"],
      unknown: "ask",
      namespaces: [...lanes],
      folders: [{ path: folder.path, writable: true }],
    };
    server = await openTestServer(engine, {
      search: ["searxng=http://searx.example.com"],
      browserImage: "host",
      world: publicWorld(() => web.port),
      host: { settings: host, hand: handWith(host) },
      packages: { registries: { ...noRegistries, pip: { ...noRegistries.pip, problem: null } }, mustPin: true },
    });
    for (const lane of lanes) {
      const operator = await server.as("operator", lane);
      const json = { allow: ["docs.example.com:80", "searx.example.com:80"] };
      expect((await operator.send("PUT", "/api/v1/egress/policy", { json })).status).toBe(200);
      const { token } = await server.keyring.issue({ name: lane, namespace: lane, role: "agent" });
      const agent = await server.as("agent", lane);
      const headers = { "content-type": "application/x-tar" };
      expect((await agent.send("POST", "/api/v1/skills", { body: storedSkill, headers })).status).toBe(201);
      keys.set(lane, token);
      calls.set(lane, lane === "sdk" ? sdkLane(server.base, token) : cliLane(server.base, token, server.home));
    }
    const client = await connectClient(server, "2026-07-28", { namespace: "mcp" });
    clients.push(client);
    await client.listTools(); // from then on it checks each result against the tool's schema
    calls.set("mcp", mcpLane(client));
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    await server?.[Symbol.asyncDispose]();
    await web?.[Symbol.asyncDispose]();
    await folders.get("mcp")?.[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const real = (text: string) => text.replaceAll(shared, folders.get("mcp")?.path ?? shared);
  const shown = (value: unknown) =>
    JSON.parse(JSON.stringify(value ?? null).replaceAll(folders.get("mcp")?.path ?? shared, shared));

  /** The steps one after the other; `$name` is a field of the last result that had it. */
  async function follow(lane: (typeof lanes)[number], { steps, command }: (typeof examples)[number]): Promise<unknown> {
    const known: Record<string, unknown> = {};
    let result: unknown;
    for (const [at, { tool, input }] of steps.entries()) {
      const text = real(input).replace(/"\$(\w+)"/g, (_, name: string) => JSON.stringify(known[name]));
      const isLast = at === steps.length - 1;
      result =
        lane === "verbs" && isLast && command !== undefined
          ? await commandLine(server.base, keys.get(lane) ?? "", server.home, [
              ...splitWords(real(command)).slice(1),
              "--json",
            ])
          : await calls.get(lane)?.(tool, JSON.parse(text));
      Object.assign(known, result);
    }
    return shown(result);
  }

  it("[MCP-02] [MCP-03] has a section with an example for every tool there is, and for no other", () => {
    expect(examples.map(({ tool }) => tool).sort()).toEqual(tools.map(({ name }) => name).sort());
    for (const { tool, steps } of examples) expect(steps.at(-1)?.tool).toBe(tool);
  });

  it.each(shownHere)(
    "[MCP-02] [MCP-03] [CLI-01] $tool gives what the page says, by MCP, SDK and command line",
    async (example) => {
      const [byMcp, bySdk, byCli, byVerb] = await Promise.all(lanes.map((lane) => follow(lane, example)));
      expect(byMcp).toMatchObject(withoutAny(example.result, byMcp) as object);
      expect(lastingPart(bySdk)).toEqual(lastingPart(byMcp));
      expect(lastingPart(byCli)).toEqual(lastingPart(byMcp));
      expect(lastingPart(byVerb)).toMatchObject(lastingPart(byMcp) as object);
    },
  );

  it("[MCP-02] [MCP-03] the three lists are one: MCP's, the SDK's and the command line's", async () => {
    const { tools: byMcp } = await (clients[0] as Client).listTools();
    const caisson = new Caisson({ url: server.base, key: keys.get("sdk") ?? "" });
    const bySdk = await caisson.tools.list("all");
    const byCli = await commandLine(server.base, keys.get("cli") ?? "", server.home, ["tools", "--json"]);
    const names = tools.map(({ name }) => name);
    expect(byMcp.map(({ name }) => name)).toEqual(names);
    expect(bySdk.map(({ name }) => name)).toEqual(names);
    expect(byCli).toEqual(bySdk);
    for (const { name, inputSchema, outputSchema, description } of byMcp) {
      const same = bySdk.find((tool) => tool.name === name);
      expect(same?.description).toBe(description);
      expect(Object.keys(same?.input_schema.properties ?? {})).toEqual(Object.keys(inputSchema.properties ?? {}));
      expect(Object.keys(same?.output_schema.properties ?? {})).toEqual(Object.keys(outputSchema?.properties ?? {}));
    }
  });

  it("[MCP-06] the set that clients get unless told is small, and the page lists what is in each", async () => {
    expect(toolsOf(["core"]).length).toBeLessThanOrEqual(8);
    for (const set of toolSets) expect(readSet(set)).toEqual(toolsOf([set]).map(({ name }) => name));
    const caisson = new Caisson({ url: server.base, key: keys.get("sdk") ?? "" });
    expect((await caisson.tools.list()).map(({ name }) => name)).toEqual(readSet("core"));
  });
});
