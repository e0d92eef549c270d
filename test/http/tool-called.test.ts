import { hash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ContentPolicy } from "../../packages/server/src/core/audit.ts";
import { auditLimits } from "../../packages/server/src/store/limits.ts";
import { engines } from "../harness.ts";
import { connectClient } from "../mcp/client.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const sha256 = (value: unknown) => hash("sha256", JSON.stringify(value));

async function openWith(auditContent: ContentPolicy) {
  const server = await openTestServer(engine, { auditContent });
  const agent = await server.as("agent");
  const operator = await server.as("operator");
  const call = (name: string, input: object) => agent.send("POST", `/api/v1/tools/${name}`, { json: input, bad: true });
  const entries = async (type = "tool.called") => (await operator.get(`/api/v1/audit?type=${type}`)).json;
  const contentOf = (position: number, by: Api = operator) => by.get(`/api/v1/audit/${position}/content`);
  return {
    server,
    agent,
    operator,
    call,
    entries,
    contentOf,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe("calls of tools in the audit log", () => {
  it("[AUD-02] have one entry each, over REST and MCP: tool, session, verdict, time and digests", async () => {
    await using at = await openWith("none");
    const input = { path: "a.txt", content: "one", session_id: "mine" };
    const { json: written } = await at.call("write_file", input);
    await at.call("read_file", { path: "none.txt", session_id: "mine" });
    await at.call("read_file", { pth: "none.txt" });
    const viewer = await at.server.as("viewer");
    await viewer.send("POST", "/api/v1/tools/execute_code", { json: { code: "1" } });
    const client = await connectClient(at.server, "2026-07-28");
    await client.callTool({ name: "list_files", arguments: { session_id: "mine" } });
    await client.close();
    const rows = await at.entries();
    const told = rows.map(({ detail }: { detail: Record<string, unknown> }) => [
      detail.tool,
      detail.session,
      detail.verdict,
      detail.error_code,
    ]);
    expect(told).toEqual([
      ["list_files", "mine", "ok", null],
      ["execute_code", "default", "denied", "forbidden"],
      ["read_file", "default", "refused", "invalid"],
      ["read_file", "mine", "refused", "not_found"],
      ["write_file", "mine", "ok", null],
    ]);
    expect(rows[4]).toMatchObject({
      sandbox_id: written.result.sandbox_id,
      request_id: expect.any(String),
      detail: {
        duration_ms: expect.any(Number),
        arguments_sha256: sha256(input),
        result_sha256: sha256(written.result),
      },
    });
    expect((await at.contentOf(rows[4].position)).status).toBe(404);
    expect((await at.server.store.audit.verify()).ok).toBe(true);
  });

  it("[S105] [AUD-03] keep arguments and results without values of secrets, cut, where policy says redacted", async () => {
    await using at = await openWith("redacted");
    const value = "sk-0123456789abcdef";
    await at.operator.put("/api/v1/secrets/key", value);
    const padding = "x".repeat(auditLimits.contentPartBytes - 40);
    for (const content of [`before ${value} after`, `${padding}${value}${value}`])
      await at.call("write_file", { path: "a.txt", content });
    const [long, short] = await at.entries();
    const { json: kept } = await at.contentOf(short.position);
    expect(kept).toMatchObject({ kind: "redacted", truncated: false });
    expect(JSON.parse(kept.arguments)).toEqual({ path: "a.txt", content: "before ***REDACTED*** after" });
    expect(JSON.parse(kept.result)).toMatchObject({ path: "a.txt" });
    const { json: cut } = await at.contentOf(long.position);
    expect(cut).toMatchObject({ truncated: true });
    expect(cut.arguments.length).toBe(auditLimits.contentPartBytes);
    expect(cut.arguments).not.toContain(value.slice(0, 4));
    expect((await at.contentOf(short.position, at.agent)).status).toBe(403);
    const stranger = await at.server.as("operator", "elsewhere");
    expect((await at.contentOf(short.position, stranger)).status).toBe(404);
    expect(await at.entries("audit.content")).toHaveLength(2);
  });

  it("[S105] [AUD-03] keep them in full for administrators alone, until they are erased", async () => {
    await using at = await openWith("full");
    const input = { path: "a.txt", content: "as it was" };
    await at.call("write_file", input);
    const [{ position, hash: before }] = await at.entries();
    const refused = await at.contentOf(position);
    expect([refused.status, refused.json.hint]).toEqual([403, "use a key with the role admin"]);
    expect((await at.entries("access.denied"))[0]).toMatchObject({ detail: { role: "operator" } });
    const admin = await at.server.as("admin");
    const { json } = await at.contentOf(position, admin);
    expect([json.kind, JSON.parse(json.arguments)]).toEqual(["full", input]);
    expect(JSON.stringify(await at.entries())).not.toContain("as it was");
    await at.server.store.audit.eraseContent(Number.MAX_SAFE_INTEGER);
    expect((await at.contentOf(position, admin)).status).toBe(404);
    expect((await at.entries())[0]).toMatchObject({ position, hash: before });
    expect((await at.server.store.audit.verify()).ok).toBe(true);
  });
});

describe("reads of files in the audit log", () => {
  let at: Awaited<ReturnType<typeof openWith>>;
  let server: TestServer;
  beforeAll(async () => {
    at = await openWith("none");
    server = at.server;
  });
  afterAll(() => at?.[Symbol.asyncDispose]());

  it("[AUD-02] have one entry a request, through whatever door", async () => {
    const { agent } = at;
    const id = await agent.create({ session_key: "read" });
    const own = `/api/v1/sandboxes/${id}`;
    await agent.post(`${own}/exec`, { command: "echo text > a; mkdir -p output; echo out > output/o" });
    const snapshot_id = (await agent.post(`${own}/snapshots`)).json.id;
    const signed = await agent.post(`${own}/signed-urls`, { method: "GET", path: "a", expires_in_seconds: 60 });
    const client = await connectClient(server, "2026-07-28");
    const seen: unknown[] = [];
    const reads = async (act: () => Promise<unknown>) => {
      const before = (await at.entries("file.read")).length;
      await act();
      const rows = await at.entries("file.read");
      expect(rows.length - before).toBe(1);
      const { sandbox_id, detail } = rows[0];
      seen.push({ ...detail, sandbox_id });
    };
    const tool = (name: string, input: object) => at.call(name, { session_id: "read", ...input });
    await reads(() => agent.send("GET", `${own}/files/a`));
    await reads(() => agent.send("GET", `${own}/archive?path=/workspace/output`));
    await reads(() => agent.get(`${own}/search?text=tex`));
    await reads(() => agent.get(`${own}/artifacts/content/o`));
    await reads(() => agent.send("GET", `/api/v1/snapshots/${snapshot_id}/content/a`));
    await reads(() => fetch(`${server.base}${signed.json.url}`));
    await reads(() => tool("read_file", { path: "a" }));
    await reads(() => tool("read_file", { path: "a", snapshot_id }));
    await reads(() => tool("search_files", { text: "tex" }));
    await reads(() => tool("get_artifacts", { path: "o" }));
    await reads(() => client.readResource({ uri: "caisson://read/a" }));
    await client.close();
    const content = { path: "a", kind: "content", sandbox_id: id };
    const search = { path: "/workspace", kind: "search", files: 2, sandbox_id: id };
    const artifact = { path: "o", kind: "artifact", sandbox_id: id };
    const stored = { path: "a", kind: "snapshot", snapshot_id };
    expect(seen).toEqual([
      content,
      { path: "/workspace/output", kind: "archive", sandbox_id: id },
      search,
      artifact,
      { ...stored, sandbox_id: null },
      content,
      content,
      { ...stored, sandbox_id: id },
      search,
      artifact,
      content,
    ]);
  });
});
