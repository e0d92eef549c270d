import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { filesWith } from "./fixture.ts";

const [engine = "container"] = engines;
const path = "/api/v1/secrets";
const value = "q7-Zr0-the-value-nobody-sees";
const everywhere = { target: { all: true }, deliver: { as: "env", variable: "TOKEN" } };

describe("secrets over REST", () => {
  let server: TestServer;
  let operator: Api;
  let agent: Api;
  let sandbox: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    operator = await server.as("operator");
    agent = await server.as("agent");
    sandbox = await agent.create();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[SEC-02] go in, and no answer of any route gives them back", async () => {
    const put = await operator.put(`${path}/API_KEY?uses=7&expires_in_seconds=3600`, value, {
      headers: { "content-type": "text/plain", "idempotency-key": "one" },
    });
    expect(put).toMatchObject({ status: 201, json: { name: "API_KEY", version: 1, uses_left: 7, warnings: [] } });
    expect((await operator.put(`${path}/API_KEY`, value)).status).toBe(200);
    const bound = await operator.post(`${path}/API_KEY/bindings`, everywhere);
    expect(bound).toMatchObject({ status: 201, json: { bindings: [everywhere] } });
    const admin = await server.as("admin");
    const shown: unknown[] = [put.json, bound.json];
    for (const { method, path: route } of server.routes) {
      if (method !== "GET" || /events|terminal|watch|\/exec|follow|export/.test(route)) continue;
      const filled = route
        .replace("{id}", sandbox)
        .replace("{name}", "API_KEY")
        .replace(/\{\w+\}/g, "nope");
      const { bytes } = await admin.get(filled, { bad: true });
      shown.push(bytes.toString());
    }
    expect(shown.length).toBeGreaterThan(20);
    expect(JSON.stringify(shown)).toContain("API_KEY");
    expect(JSON.stringify(shown)).not.toContain(value);
    expect(await filesWith(server.home, Buffer.from(value))).toEqual([]);
    expect(JSON.stringify(await server.store.audit.search({ limit: 1_000 }))).not.toContain(value);
  });

  it("[SEC-02] refuse what is wrong without a word of the value", async () => {
    const refused = [
      await operator.put(`${path}/1BAD`, value, { bad: true }),
      await operator.put(`${path}/SHORT`, "q7-Zr", { bad: true }),
      await operator.put(`${path}/LONG`, value.repeat(10_000), { bad: true }),
      await operator.put(`${path}/API_KEY?value=${value.slice(0, 8)}`, value, { bad: true }),
      await operator.put(`${path}/API_KEY?uses=0`, value, { bad: true }),
      await operator.put(`${path}/API_KEY`, `${value}\0`, { bad: true }),
      await agent.put(`${path}/API_KEY`, value, { bad: true }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 413, 400, 400, 400, 403]);
    for (const { bytes } of refused) expect(bytes.toString()).not.toContain("q7-Zr0");
    expect(server.errors).toEqual([]);
    expect((await operator.get(path)).json.map(({ name }: { name: string }) => name)).toEqual(["API_KEY"]);
  });

  it("[SEC-09] are bound by operators alone, to what exists in their namespace", async () => {
    const foreign = await (await server.as("agent", "elsewhere")).create();
    const { key: foreignKey } = await server.keyring.issue({ name: "x", namespace: "elsewhere", role: "agent" });
    const { key } = await server.keyring.issue({ name: "x", namespace: "default", role: "agent" });
    const bind = (api: Api, target: object, deliver: object = { as: "env", variable: "OTHER" }) =>
      api.post(`${path}/API_KEY/bindings`, { target, deliver }, { bad: true });
    expect((await bind(agent, { sandbox_id: sandbox })).status).toBe(403);
    expect((await bind(operator, { sandbox_id: foreign })).status).toBe(404);
    expect((await bind(operator, { sandbox_id: "nope" })).status).toBe(404);
    expect((await bind(operator, { key_id: foreignKey.id })).status).toBe(404);
    expect((await bind(operator, { label: "a", value: "b" })).status).toBe(400);
    expect((await bind(operator, { session_key: "a" })).status).toBe(400);
    expect((await bind(operator, { key_id: key.id })).status).toBe(201);
    expect((await bind(operator, { key_id: key.id })).status).toBe(409);
    const header = { as: "header", header: "Authorization", hosts: ["api.example.com"], variable: "API" };
    for (const wrong of [
      { hosts: ["*.com"] },
      { hosts: [] },
      { format: "Bearer" },
      { header: "a b" },
      { variable: "1" },
    ])
      expect((await bind(operator, { all: true }, { ...header, ...wrong })).status).toBe(400);
    const made = await bind(operator, { all: true }, header);
    expect(made).toMatchObject({ status: 201, json: { bindings: expect.any(Array) } });
    const other = await server.as("operator", "elsewhere");
    expect((await other.get(`${path}/API_KEY`)).status).toBe(404);
    for (const { id } of made.json.bindings)
      expect((await other.delete(`${path}/API_KEY/bindings/${id}`)).status).toBe(404);
    for (const { id } of made.json.bindings.slice(1))
      expect((await operator.delete(`${path}/API_KEY/bindings/${id}`)).status).toBe(200);
    expect((await operator.get(`${path}/API_KEY`)).json.bindings).toHaveLength(1);
  });

  it("[SEC-04] have plain, visible counterparts: variables that are shown, changed and logged by name, and hide no secret", async () => {
    const at = `/api/v1/sandboxes/${sandbox}`;
    const echo = async () => (await agent.post(`${at}/exec`, { command: 'echo "$PLAIN/$TOKEN"' })).json.stdout;
    const env = { PLAIN: "seen", TOKEN: "not the secret" };
    expect(await agent.send("PATCH", at, { json: { env } })).toMatchObject({ json: { env_names: ["PLAIN", "TOKEN"] } });
    expect(await echo()).toBe("seen/***REDACTED***\n");
    expect((await agent.get(`${at}/env`)).json).toEqual(env);
    expect((await (await server.as("viewer")).get(`${at}/env`)).status).toBe(403);
    const [logged] = await server.store.audit.search({ type: "sandbox.environment", sandboxId: sandbox });
    expect(logged?.detail).toEqual({ variables: "PLAIN TOKEN" });
    expect((await agent.send("PATCH", at, { json: { env: { "A=B": "x" } }, bad: true })).status).toBe(400);
    await agent.send("PATCH", at, { json: { env: {} } });
    expect(await echo()).toBe("/***REDACTED***\n");
  });

  it("[SEC-01] rotate on an administrator's word; deleted ones are gone", async () => {
    expect((await operator.post("/api/v1/vault/rotate", undefined, { bad: true })).status).toBe(403);
    const admin = await server.as("admin");
    expect((await admin.post("/api/v1/vault/rotate")).json).toEqual({ rewrapped: 1 });
    expect((await operator.delete(`${path}/API_KEY`)).status).toBe(204);
    expect((await operator.delete(`${path}/API_KEY`)).status).toBe(404);
    expect((await operator.get(path)).json).toEqual([]);
  });
});
