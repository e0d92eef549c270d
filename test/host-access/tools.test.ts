import { hash } from "node:crypto";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { HostSettings } from "../../packages/server/src/core/host-access.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient } from "../mcp/client.ts";
import { Folder, handWith, newMark, nothing, running } from "./hand.ts";

const [engine = "container"] = engines;

const names = [
  ["host_exec", { command: "id -u" }],
  ["request_host_access", { pattern: "id -u" }],
  ["list_host_access", {}],
  ["host_file_read", { path: "/etc/hostname" }],
  ["host_file_write", { path: "/var/tmp/caisson-host-note", content: "x" }],
  ["host_file_list", { path: "/var/log" }],
  ["host_file_copy", { source: "/etc/hostname" }],
] as const;

// biome-ignore lint/suspicious/noExplicitAny: tests look into it field by field
type Outcome = any;

async function call(client: Client, name: string, args: object): Promise<Outcome> {
  return client.callTool({ name, arguments: { ...args } });
}

describe("the host's tools, while it is closed", () => {
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    server = await openTestServer(engine);
    client = await connectClient(server, "2026-07-28", { role: "admin" });
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  it.each(names)("[HST-01] %s refuses, and says that this is policy", async (name, args) => {
    const { isError, content } = await call(client, name, args);
    expect(isError).toBe(true);
    expect(content[0].text).toContain("host access is disabled");
    const admin = await server.as("admin");
    const { status, json } = await admin.send("POST", `/api/v1/tools/${name}`, { json: args });
    expect([status, json.code, json.detail]).toEqual([403, "forbidden", "host access is disabled"]);
  });
});

describe("content that is no Base64", () => {
  it("holds up nobody, whatever it looks like", async () => {
    await using server = await openTestServer(engine);
    const agent = await server.as("agent");
    const given = { path: "/x", content: `${"=".repeat(4_000_000)}x`, encoding: "base64" };
    const { json } = await agent.send("POST", "/api/v1/tools/host_file_write", { json: given });
    expect(json.detail).toBe("the content is no Base64");
  });
});

describe.each(engines)("the host's tools, with a sandbox on %s", (name) => {
  let server: TestServer;
  let client: Client;
  let folder: Folder;
  const at = (file: string) => join(folder.path, file);

  beforeAll(async () => {
    folder = await Folder.make();
    await mkdir(at("data/inbox"), { recursive: true });
    await writeFile(at("data/rows.csv"), "a,b\n1,2\n");
    await writeFile(at("data/bytes"), Buffer.from([0xff, 0, 1]));
    await writeFile(at("hidden"), "hidden");
    await symlink("../hidden", at("data/link"));
    const settings: HostSettings = {
      ...nothing,
      allow: ["id -u", "echo *"],
      ask: ["printf *"],
      blocked: ["echo secret*"],
      namespaces: ["default"],
      folders: [
        { path: at("data"), writable: false },
        { path: at("data/inbox"), writable: true },
      ],
    };
    server = await openTestServer(name, { host: { settings, hand: handWith(settings) } });
    client = await connectClient(server, "2026-07-28");
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  it("are seven, with the names of the seed, in a set of their own", async () => {
    const { tools } = await client.listTools();
    for (const [one] of names) expect(tools.map((tool) => tool.name)).toContain(one);
    const { json } = await (await server.as("operator")).send("GET", "/api/v1/tools?set=host");
    expect(json.items.map((tool: { name: string }) => tool.name).sort()).toEqual(names.map(([one]) => one).sort());
  });

  it("[HST-02] host_exec runs what is allowed, from a text or a list", async () => {
    const text = await call(client, "host_exec", { command: "echo 'a b' c" });
    expect(text.structuredContent).toMatchObject({ exit_code: 0, stdout: "a b c\n", timed_out: false });
    const list = await call(client, "host_exec", { command: ["echo", "a; id", "$HOME"] });
    expect(list.structuredContent).toMatchObject({ stdout: "a; id $HOME\n" });
  });

  it.each([
    ["echo a; id", "not supported: no shell runs this command"],
    ["echo a | cat", "not supported: no shell runs this command"],
    ["echo $(id)", "not supported: no shell runs this command"],
    ["echo secrets", "blocks it"],
    ["cat /etc/hostname", "no pattern allows it"],
    ["PATH=/tmp id -u", "variables before a command are not supported"],
  ])("[HST-02] host_exec refuses '%s'", async (command, why) => {
    const { isError, content } = await call(client, "host_exec", { command });
    expect(isError).toBe(true);
    expect(content[0].text).toContain(why);
  });

  it("[HST-02] host_exec runs what a human approves, asked by the attempt or in advance", async () => {
    const operator = await server.as("operator");
    const run = call(client, "host_exec", { command: "printf yes" });
    const asked = await vi.waitFor(
      async () => {
        const { json } = await operator.send("GET", "/api/v1/approvals?state=pending&kind=host");
        expect(json).toHaveLength(1);
        return json[0];
      },
      { timeout: 20_000 },
    );
    expect(asked).toMatchObject({ subject: "printf yes", sandbox_id: null });
    await operator.send("POST", `/api/v1/approvals/${asked.id}/decide`, { json: { approve: true } });
    expect((await run).structuredContent).toMatchObject({ stdout: "yes" });

    const request = await call(client, "request_host_access", { pattern: "uname *", reason: "to know" });
    const { approval_id, state, wait } = request.structuredContent;
    expect([state, wait]).toEqual(["pending", `GET /api/v1/approvals/${approval_id}/wait`]);
    expect((await call(client, "host_exec", { command: "uname x" })).isError).toBe(true);
    const decision = { approve: true, scope: "always" };
    await operator.send("POST", `/api/v1/approvals/${approval_id}/decide`, { json: decision });
    expect((await call(client, "host_exec", { command: "uname x" })).structuredContent.exit_code).not.toBe(0);
    const { structuredContent } = await call(client, "list_host_access", {});
    expect(structuredContent).toMatchObject({
      allowed: ["id -u", "echo *"],
      asked: ["printf *"],
      blocked: ["echo secret*"],
      approved: [{ pattern: "uname *", approval_id }],
      folders: [{ access: "read" }, { access: "read-write" }],
    });
  });

  it("[HST-02] host_exec's question is put to the user of an operator's client", async () => {
    const asked: string[] = [];
    const form = { role: "operator", capabilities: { elicitation: { form: {} } } } as const;
    const user = await connectClient(server, "2026-07-28", form);
    user.setRequestHandler("elicitation/create", async ({ params }) => {
      asked.push(JSON.stringify(params));
      return { action: "accept", content: { answer: "once" } } as never;
    });
    const run = await call(user, "host_exec", { command: "printf by-form" });
    await user.close();
    expect(run.structuredContent).toMatchObject({ stdout: "by-form" });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("printf by-form");
    expect(asked[0]).not.toContain('"sandbox"');
  });

  it("[HST-02] host_exec ends its program when the client cancels", async () => {
    const operator = await server.as("operator");
    const request = await call(client, "request_host_access", { pattern: "sleep *" });
    const { approval_id: id } = request.structuredContent;
    await operator.send("POST", `/api/v1/approvals/${id}/decide`, { json: { approve: true, scope: "always" } });
    const mark = newMark();
    const stop = new AbortController();
    const sleep = { name: "host_exec", arguments: { command: `sleep ${mark}` } };
    const run = client.callTool(sleep, { signal: stop.signal });
    run.catch(() => undefined);
    await vi.waitFor(() => expect(running(mark)).toBe(true), 20_000);
    stop.abort();
    await expect(run).rejects.toThrow();
    await vi.waitFor(() => expect(running(mark)).toBe(false), 20_000);
  });

  it("[HST-03] host_file_read and host_file_list reach open folders, and nothing by links", async () => {
    const read = async (path: string) => call(client, "host_file_read", { path });
    expect((await read(at("data/rows.csv"))).structuredContent).toMatchObject({
      content: "a,b\n1,2\n",
      encoding: "utf-8",
      size_bytes: 8,
    });
    expect((await read(at("data/bytes"))).structuredContent).toMatchObject({ content: "/wAB", encoding: "base64" });
    for (const path of [at("data/link"), at("hidden"), at("data/../hidden"), "/etc/hostname"])
      expect((await read(path)).content[0].text).toContain("is not in an open folder");
    const { structuredContent } = await call(client, "host_file_list", { path: at("data") });
    expect(structuredContent.entries.map((one: { name: string; type: string }) => `${one.type} ${one.name}`)).toEqual([
      "file bytes",
      "folder inbox",
      "link link",
      "file rows.csv",
    ]);
    expect((await call(client, "host_file_list", { path: folder.path })).isError).toBe(true);
  });

  it("[HST-03] host_file_write writes where that is open", async () => {
    const write = (path: string, content: string, encoding?: string) =>
      call(client, "host_file_write", { path, content, ...(encoding && { encoding }) });
    expect((await write(at("data/inbox/note"), "hello")).structuredContent).toMatchObject({ created: true });
    expect((await write(at("data/inbox/note"), "/wAB", "base64")).structuredContent).toMatchObject({ created: false });
    expect(await readFile(at("data/inbox/note"))).toEqual(Buffer.from([0xff, 0, 1]));
    expect((await write(at("data/inbox/note"), "no base64!", "base64")).isError).toBe(true);
    expect((await write(at("data/note"), "x")).content[0].text).toContain("is in a read-only folder");
    expect((await write(at("hidden"), "x")).content[0].text).toContain("is not in an open folder");
    expect(await readFile(at("hidden"), "utf8")).toBe("hidden");
  });

  it("[HST-03] host_file_copy brings a file into the workspace", async () => {
    const big = Buffer.alloc(3_000_000, "0123456789");
    await writeFile(at("data/big"), big);
    const copied = await call(client, "host_file_copy", { source: at("data/big"), destination: "in/big" });
    expect(copied.structuredContent).toMatchObject({ path: "/workspace/in/big", size_bytes: big.length });
    const sum = await call(client, "execute_code", { code: "sha256sum </workspace/in/big", language: "shell" });
    expect(sum.structuredContent.stdout.split(" ")[0]).toBe(hash("sha256", big));
    expect((await call(client, "host_file_copy", { source: at("data/link") })).isError).toBe(true);
    const plain = await call(client, "host_file_copy", { source: at("data/rows.csv") });
    expect(plain.structuredContent.path).toBe("/workspace/rows.csv");
    const cat = await call(client, "execute_code", { code: "cat /workspace/rows.csv", language: "shell" });
    expect(cat.structuredContent.stdout).toBe("a,b\n1,2\n");
  });

  it("are for those who may use sandboxes", async () => {
    const viewer = await server.as("viewer");
    for (const [one, args] of names)
      expect((await viewer.send("POST", `/api/v1/tools/${one}`, { json: args })).status).toBe(403);
  });
});
