import { once } from "node:events";
import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engines } from "../harness.ts";
import { connectClient } from "../mcp/client.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const auditBytes = 100_000;

/** The status of a request to a port, as a browser sends it. */
async function browse(server: TestServer, sandboxId: string): Promise<number | undefined> {
  const { port } = server.browsers.server.address() as AddressInfo;
  const sent = request({ host: "127.0.0.1", port, headers: { host: `8000-${sandboxId}.localhost:${port}` } });
  sent.end();
  const [response] = await once(sent, "response");
  response.resume();
  return response.statusCode;
}

describe("a namespace whose audit log is full of the last day's entries", () => {
  let server: TestServer;
  let agent: Api;
  let operator: Api;
  let id: string;
  let at: string;
  let signed: string;
  const rows = async () => (await server.store.audit.search({ namespace: "default", limit: 1_000 })).length;
  const full = { code: "limit_exceeded", hint: expect.stringContaining("audit_namespace_mb") };

  beforeAll(async () => {
    server = await openTestServer(engine, { auditBytes });
    [agent, operator] = [await server.as("agent"), await server.as("operator")];
    await operator.put("/api/v1/secrets/TOKEN", "a token of the api", { headers: { "content-type": "text/plain" } });
    const deliver = { as: "header", header: "Authorization", hosts: ["api.example.com"], variable: "TOKEN" };
    const bound = { target: { all: true }, deliver };
    expect((await operator.post("/api/v1/secrets/TOKEN/bindings", bound)).status).toBe(201);
    id = await agent.create();
    at = `/api/v1/sandboxes/${id}`;
    await agent.put(`${at}/files/note`, "text");
    const json = { method: "PUT", path: "note" };
    signed = (await agent.send("POST", `${at}/signed-urls`, { json })).json.url;
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "public" } });
    server.browsers.server.listen(0, "127.0.0.1");
    await once(server.browsers.server, "listening");
    for (let row = 0; row < auditBytes / 1_000; row++) {
      const data = { what: "x".repeat(1_000) };
      await server.journal.record({ type: "sandbox.changed", by: "system", namespace: "default", data });
    }
    await vi.waitFor(async () => expect(await server.store.audit.search({ type: "audit.full" })).toHaveLength(1));
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[S108] refuses work by REST, before anything is done, and adds no row for it", async () => {
    const before = await rows();
    const answers = [
      await agent.send("PUT", `${at}/files/note`, { body: "other" }),
      await agent.send("GET", `${at}/files/note`),
      await agent.send("POST", `${at}/exec`, { json: { command: "echo other > note" } }),
      await agent.send("POST", "/api/v1/sandboxes", { json: {} }),
      await agent.send("POST", `${at}/signed-urls`, { json: { method: "GET", path: "note" } }),
      await server.anonymous.send("PUT", signed, { body: "other" }),
      await agent.get("/api/v1/audit"),
      await (await server.as("viewer")).send("POST", `${at}/exec`, { json: { command: "true" } }),
    ];
    for (const { status, json } of answers) expect([status, json]).toEqual([429, expect.objectContaining(full)]);
    expect(await browse(server, id)).toBe(429);
    expect(await rows()).toBe(before);
    expect((await operator.get(`${at}/files/note`)).bytes.toString()).toBe("text");
  });

  it("[S108] refuses tools and resources, and what would leave its sandboxes", async () => {
    const json = { session_id: id, path: "note" };
    expect((await agent.send("POST", "/api/v1/tools/read_file", { json, bad: true })).json).toMatchObject(full);
    const client = await connectClient(server, "2026-07-28");
    const before = await rows();
    const called = await client.callTool({ name: "read_file", arguments: { session_id: id, path: "note" } });
    expect(called).toMatchObject({ isError: true });
    await expect(client.readResource({ uri: `caisson://${id}/workspace/note` })).rejects.toThrow(/is full/);
    await client.close();
    const attempt = {
      ...{ id: "att_1", sandboxId: id, host: "example.com", port: 443, address: null, verdict: "denied" as const },
      ...{ rule: null, layer: null, reason: null, approvalId: null, bytesUp: 0, bytesDown: 0 },
      ...{ startedAtMs: 0, durationMs: null },
    };
    await expect(server.attempts.attempted(attempt)).rejects.toThrow(/is full/);
    const [secret] = server.vault.placeholders(id);
    await expect(server.vault.reveal(id, secret?.placeholder ?? "", "api.example.com")).rejects.toThrow(/is full/);
    expect(await rows()).toBe(before);
  });

  it("[S108] lets others work, operators go on, and agents look and delete", async () => {
    const other = await server.as("agent", "other");
    expect((await other.send("POST", "/api/v1/sandboxes", { json: {} })).status).toBe(201);
    expect((await operator.put(`${at}/files/more`, "text")).status).toBe(204);
    expect((await agent.get(at)).status).toBe(200);
    expect((await agent.send("DELETE", `${at}/files/more`)).status).toBe(204);
    const json = { session_id: id };
    expect((await agent.send("POST", "/api/v1/tools/terminate_session", { json })).status).toBe(200);
    expect((await server.store.audit.search({ type: "sandbox.destroyed" })).length).toBe(1);
    expect(await server.store.audit.verify()).toMatchObject({ ok: true });
  });
});
