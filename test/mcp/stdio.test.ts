import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import { engines, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";
import { eras } from "./client.ts";
import {
  connectStdio,
  crowd,
  initialize,
  openStdioHome,
  ownedFolders,
  type StdioHome,
  tellRaw,
} from "./stdio-program.ts";

const run = async (client: Client, code: string) =>
  (await client.callTool({ name: "execute_code", arguments: { code } })).structuredContent;

/** The tools of the two seed documents. */
const seedTools = [
  ...["execute_code", "install_package", "validate_code", "create_session", "terminate_session", "bridge_data"],
  ...["list_runtimes", "set_resource_limits", "sandbox_stats", "inspect_state", "get_artifacts", "request_egress"],
  ...["audit_execution", "web_search", "fetch_webpage", "browser_fetch", "host_exec", "request_host_access"],
  ...["list_host_access", "host_file_read", "host_file_write", "host_file_list", "host_file_copy", "run_sandbox_code"],
  ...["validate_json_data", "validate_csv_data", "create_state_snapshot", "restore_state_snapshot"],
  ...["list_state_snapshots", "delete_state_snapshot", "get_sandbox_metrics"],
];

describe("caisson mcp without a daemon", () => {
  let place: StdioHome;
  beforeAll(async () => {
    place = await openStdioHome("container");
  });
  afterAll(() => place[Symbol.asyncDispose]());

  it.each(eras)("[MCP-01] serves a client of %s, and leaves nothing when its input ends", async (era) => {
    const { client, transport, told } = await connectStdio(place.variables, era);
    await client.connect(transport);
    expect(client.getNegotiatedProtocolVersion()).toBe(era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("execute_code");
    expect(await run(client, "open('a', 'w').write('kept')")).toMatchObject({ exit_code: 0 });
    expect(await run(client, "print(open('a').read())")).toMatchObject({ stdout: "kept\n" });
    expect(ownedFolders(place.home)).not.toEqual([]);
    await client.close();
    await vi.waitFor(() => expect([...ownedFolders(place.home), ...findLeaks(place.home)]).toEqual([]), 20_000);
    expect(told()).toBe("");
  });

  it("writes down what its first sandbox tries to reach, which begins before there is a log", async () => {
    const { client, transport } = await connectStdio(place.variables, "2025-11-25", {
      args: ["mcp", "--tools", "all"],
    });
    await client.connect(transport);
    const reach = "import socket\ntry: socket.create_connection(('denied.example', 443))\nexcept OSError: print('no')";
    expect(await run(client, reach)).toMatchObject({ stdout: "no\n" });
    const asked = { name: "audit_execution", arguments: { type: "egress.denied" } };
    const denied = async () => (await client.callTool(asked)).structuredContent;
    await vi.waitFor(
      async () => expect(await denied()).toMatchObject({ entries: [{ type: "egress.denied" }] }),
      20_000,
    );
    await client.close();
  });

  it("[AUD-02] records how a run in its first sandbox ended, which begins before there is a log", async () => {
    const { client, transport } = await connectStdio(place.variables, "2025-11-25");
    await client.connect(transport);
    expect(await run(client, "raise SystemExit(3)")).toMatchObject({ exit_code: 3 });
    const asked = { name: "audit_execution", arguments: { type: "execution.failed" } };
    const { structuredContent } = await client.callTool(asked);
    expect(structuredContent).toMatchObject({ entries: [{ detail: { exit_code: 3 } }] });
    await client.close();
  });

  it("leaves the layers of its data folder alone, which a daemon's records name", async () => {
    const open = () =>
      openCaisson({ home: place.home, root, engine: "container", limits: { storageBytes: 16 * 1024 ** 2 } });
    const layersOf = async () => {
      await using caisson = open();
      return (await caisson.layers()).map(({ id }) => id);
    };
    await using caisson = open();
    const { id } = await (await caisson.createSandbox({ keep: true })).freeze({ keep: false });
    expect(await layersOf()).toEqual([id]);
    const { client, transport } = await connectStdio(place.variables, "2025-11-25");
    await client.connect(transport);
    await run(client, "print(1)");
    await client.close();
    await vi.waitFor(() => expect(ownedFolders(place.home)).toEqual([]), 20_000);
    expect(await layersOf()).toEqual([id]);
    await caisson.removeLayer(id);
  });

  it("has several at once, each with a sandbox of its own", async () => {
    const all = await Promise.all(eras.map((era) => connectStdio(place.variables, era)));
    await Promise.all(all.map(({ client, transport }) => client.connect(transport)));
    await Promise.all(all.map(({ client }, number) => run(client, `open('mine', 'w').write('${number}')`)));
    const found = await Promise.all(all.map(({ client }) => run(client, "print(open('mine').read())")));
    expect(found).toMatchObject([{ stdout: "0\n" }, { stdout: "1\n" }]);
    await Promise.all(all.map(({ client }) => client.close()));
  });

  it("that was killed leaves a sandbox that ends by itself, and a folder that the next one sweeps", async () => {
    const first = await connectStdio(place.variables, "2025-11-25");
    await first.client.connect(first.transport);
    await run(first.client, "print(1)");
    const [left] = ownedFolders(place.home);
    const { pid } = first.transport;
    if (pid !== null) process.kill(pid, "SIGKILL");
    const next = await connectStdio(place.variables, "2025-11-25");
    await next.client.connect(next.transport);
    await vi.waitFor(() => expect(ownedFolders(place.home)).not.toContain(left), 20_000);
    await run(next.client, "print(2)");
    await next.client.close();
    await first.client.close();
  });

  it("[S84] refuses a message that would keep a parser busy, and answers the next one", async () => {
    const told = await tellRaw(place.variables, [crowd, initialize]);
    expect(told).toMatchObject([{ error: { message: expect.stringContaining("values and names") } }, { id: 1 }]);
  });

  it("says on standard error alone what is wrong with how it was started", async () => {
    const start = async (...args: string[]) => {
      const env = { PATH: process.env.PATH, ...place.variables };
      const child = spawn(join(root, "caisson"), args, { env, stdio: ["ignore", "pipe", "pipe"] });
      let [stdout, stderr] = ["", ""];
      child.stdout.on("data", (text) => (stdout += text));
      child.stderr.on("data", (text) => (stderr += text));
      const [code] = await once(child, "close");
      return { code, stdout, stderr };
    };
    const unknown = await start("mcp", "--tools", "core,magic");
    expect(unknown).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("unknown tool set 'magic'") });
    const sse = await start("serve", "--transport", "sse");
    expect(sse).toMatchObject({ stdout: "", stderr: expect.stringContaining("--transport http") });
    expect(sse.code).not.toBe(0);
    const withPort = await start("serve", "--transport", "sse", "--port", "8000");
    expect(withPort.stderr).toContain("hint: caisson serve --transport http --port 8000 (");
    const alone = await start("serve", "--port", "8000");
    expect(alone).toMatchObject({ code: 2, stdout: "" });
    expect(alone.stderr).toContain("--port requires --transport http\n");
    const wrong = await start("serve", "--transport", "http", "--port", "70000");
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("CAISSON_PORT") });
  });
});

describe.skipIf(!engines.includes("gvisor"))("caisson mcp on gVisor", () => {
  it("[MCP-02] [MCP-03] caisson serve has all the tools of the two products, and leaves nothing when its input ends", async () => {
    await using place = await openStdioHome("gvisor");
    const { client, transport } = await connectStdio(place.variables, "2026-07-28", { args: ["serve"] });
    await client.connect(transport);
    expect(await run(client, "print(6 * 7)")).toMatchObject({ stdout: "42\n", engine: "gvisor" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...seedTools]));
    expect(client.getInstructions()).not.toContain("There are more tools");
    await client.close();
  });

  it("[MCP-06] with fewer tools says how to get more: at its start, and when one of them is called", async () => {
    await using place = await openStdioHome("gvisor");
    const configured = { ...place.variables, CAISSON_MCP_TOOLS: "core,data" };
    const lean = [
      { args: ["mcp"], variables: place.variables, has: "core" },
      { args: ["serve"], variables: configured, has: "core, data" },
    ];
    for (const [index, { args, variables, has }] of lean.entries()) {
      const { client, transport } = await connectStdio(variables, eras[index] ?? "2026-07-28", { args });
      await client.connect(transport);
      expect(client.getInstructions()).toContain(
        `You have the tool sets ${has}. There are more tools in the sets sessions, `,
      );
      expect(client.getInstructions()).toContain("caisson serve, or caisson mcp --tools all");
      const sets = has.replace(", ", ",");
      await expect(client.callTool({ name: "web_search", arguments: { query: "x" } })).rejects.toThrow(
        `the tool 'web_search' is in the set web, which you do not have: it comes with caisson mcp --tools ${sets},web `,
      );
      await expect(client.callTool({ name: "no_such", arguments: {} })).rejects.toThrow("unknown tool 'no_such'");
      await client.close();
    }
  });
});
