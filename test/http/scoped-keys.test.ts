import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { isAllowed, type Scope, scopes } from "../../packages/server/src/core/scope.ts";
import type { Route } from "../../packages/server/src/http/route.ts";
import { tools } from "../../packages/server/src/tools/tools.ts";
import { engines } from "../harness.ts";
import { connectClient, eras } from "../mcp/client.ts";
import { refusalOf } from "../mcp/results.ts";
import type { Api } from "./api.ts";
import { nameOf, sendLeast } from "./least-request.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const hosted = "server:0123456789abcdef";

describe("[IDN-01] a key with scopes", () => {
  let server: TestServer;
  let sandbox: string;
  let admin: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    admin = await server.as("admin");
    sandbox = await admin.create();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  /** Routes of the table of scopes: the endpoint of hosted servers asks for `server:ID` by itself. */
  const routes = () =>
    server.routes.filter(({ scope }) => scope !== null && Object.hasOwn(scopes, scope)) as (Route & { scope: Scope })[];

  async function ask(api: Api, route: Route): Promise<{ status: number; text: string }> {
    const path = route.path
      .replace("/sandboxes/{id}", `/sandboxes/${sandbox}`)
      .replace("{port}", "8000")
      .replace(/\{\w+\}/g, "nope");
    const response = await sendLeast(server, api, route, path);
    if (response.status === 403) return { status: 403, text: await response.text() };
    await response.body?.cancel();
    return { status: response.status, text: "" };
  }

  it("[S140] for a hosted server alone reaches no route, and hears which scope it lacks", async () => {
    const api = await server.as("admin", "default", [hosted, `${hosted}:get_data`]);
    expect(routes().length).toBeGreaterThan(100);
    for (const route of routes()) {
      const { status, text } = await ask(api, route);
      expect(status, nameOf(route)).toBe(403);
      if (route.method !== "HEAD") expect(text, nameOf(route)).toContain(`does not have the scope ${route.scope}`);
    }
  });

  it("[S140] reaches the routes that its scope names, and none besides, whatever its role", async () => {
    const granted: readonly Scope[] = ["read"];
    const api = await server.as("admin", "default", granted);
    for (const route of routes()) {
      const { status } = await ask(api, route);
      if (granted.includes(route.scope)) expect([401, 403], nameOf(route)).not.toContain(status);
      else expect(status, nameOf(route)).toBe(403);
    }
    expect((await admin.get(`/api/v1/sandboxes/${sandbox}`)).json.status).toBe("running");
  });

  it("[S140] stays in its namespace, and sees one namespace, unless it may administer", async () => {
    for (const [granted, status] of [
      [["read"], 403],
      [["read", "administer"], 200],
    ] as const) {
      const api = await server.as("admin", "default", granted);
      const answer = await api.with({ "x-caisson-namespace": "elsewhere" }).get("/api/v1/sandboxes");
      expect(answer.status).toBe(status);
      if (status === 403) expect(answer.json.hint).toContain("the scope administer");
    }
  });

  it("[S140] calls the tools that its scopes allow, over REST", async () => {
    const reader = await server.as("operator", "default", ["read"]);
    const names = ({ json }: Awaited<ReturnType<Api["get"]>>) => json.items.map(({ name }: { name: string }) => name);
    const readable = tools.filter(({ scope }) => scope === "read").map(({ name }) => name);
    expect(names(await reader.get("/api/v1/tools?set=all"))).toEqual(readable);
    for (const { name, scope } of tools) {
      const { status, json } = await reader.post(`/api/v1/tools/${name}`, {}, { bad: true });
      if (scope === "read") expect(status, name).not.toBe(403);
      else expect([status, json.detail], name).toEqual([403, `this key does not have the scope ${scope}`]);
    }
  });

  it.each(eras)("[S140] is offered only tools that it may call, and can call no other (%s)", async (era) => {
    const client = await connectClient(server, era, { role: "operator", scopes: ["read"] });
    const listed = (await client.listTools()).tools.map(({ name }) => name);
    expect(listed).toEqual(tools.filter(({ scope }) => scope === "read").map(({ name }) => name));
    const refusal = refusalOf(await client.callTool({ name: "execute_code", arguments: { code: "1" } }));
    expect(refusal).toMatchObject({ error: "forbidden", message: "this key does not have the scope use" });
    await client.close();
    const whole = await connectClient(server, era, { role: "agent" });
    expect((await whole.listTools()).tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    await whole.close();
    await expect(connectClient(server, era, { role: "admin", scopes: [hosted] })).rejects.toThrow();
  });

  const create = (api: Api, request: object) =>
    api.post("/api/v1/keys", { name: "made", role: "agent", ...request }, { bad: true });

  it("is made over REST, listed with its scopes, and used until it is revoked", async () => {
    const wanted = ["read", hosted, `${hosted}:get_data`];
    const { status, json } = await create(admin, { scopes: [...wanted, "read"] });
    expect([status, json.scopes]).toEqual([201, wanted]);
    const api = server.anonymous.with({ "x-api-key": json.key });
    expect((await api.get("/api/v1/sandboxes")).status).toBe(200);
    expect((await api.post("/api/v1/sandboxes", {})).status).toBe(403);
    const listed = (await admin.get("/api/v1/keys")).json.find(({ id }: { id: string }) => id === json.id);
    expect(listed.scopes).toEqual(wanted);
    const [row] = await server.store.audit.search({ type: "key.created", limit: 1, before: Number.MAX_SAFE_INTEGER });
    expect(row?.detail).toMatchObject({ key_id: json.id, scopes: wanted });
    expect((await admin.delete(`/api/v1/keys/${json.id}`)).status).toBe(204);
    expect((await api.get("/api/v1/sandboxes")).status).toBe(401);
    expect((await create(admin, {})).json.scopes).toBeNull();
  });

  it.each([
    ["a scope that nobody has", { scopes: ["write"] }, /unknown scope/],
    ["a server's id of another form", { scopes: ["server:nope"] }, /unknown scope/],
    ["a tool with a space", { scopes: [`${hosted}:a b`] }, /unknown scope/],
    ["no scope at all", { scopes: [] }, /scopes/],
    ["a scope that its role does not have", { scopes: ["operate"] }, /role agent does not have the scope operate/],
    ["a server, for a role that may only read", { role: "viewer", scopes: [hosted] }, /role viewer does not have/],
  ])("is not made with %s", async (_, request, message) => {
    const { status, json } = await create(admin, request);
    expect([status, json.code]).toEqual([400, "invalid"]);
    expect(json.detail).toMatch(message);
  });

  it("[S140] creates no key with more than itself", async () => {
    const maker = await server.as("admin", "default", ["administer", "read", hosted, "server:fedcba9876543210:one"]);
    const made = async (request: object) => (await create(maker, { role: "admin", ...request })).status;
    for (const granted of [
      ["read"],
      ["administer", "read"],
      [hosted],
      [`${hosted}:any`],
      ["server:fedcba9876543210:one"],
    ])
      expect(await made({ scopes: granted }), String(granted)).toBe(201);
    for (const granted of [["use"], ["read", "unmask"], ["server:fedcba9876543210"], ["server:fedcba9876543210:two"]])
      expect(await made({ scopes: granted }), String(granted)).toBe(403);
    expect(await made({})).toBe(403);
    expect((await create(maker, { scopes: ["use"] })).json.hint).toContain("the scope use");
  });

  it("[S140] signs no URL for what it may not do itself", async () => {
    const path = `/api/v1/sandboxes/${sandbox}/signed-urls`;
    const user = await server.as("agent", "default", ["use"]);
    const read = await user.post(path, { method: "GET", path: "note" });
    expect([read.status, read.json.detail]).toEqual([403, "this key does not have the scope read"]);
    const write = await user.post(path, { method: "PUT", path: "note" });
    expect((await server.anonymous.put(write.json.url, "written")).status).toBe(204);
    const reader = await server.as("agent", "default", ["use", "read"]);
    const both = await reader.post(path, { method: "GET", path: "note" });
    expect((await server.anonymous.get(both.json.url)).bytes.toString()).toBe("written");
  });

  it("starts no sandbox without the scope use", async () => {
    const stopped = await admin.create();
    await admin.post(`/api/v1/sandboxes/${stopped}/stop`);
    const reader = await server.as("admin", "default", ["read"]);
    const { status, json } = await reader.get(`/api/v1/sandboxes/${stopped}/files`);
    expect([status, json.detail]).toEqual([409, expect.stringContaining("does not have the scope use")]);
  });

  it("[IDN-01] opens no terminal with a ticket that outlived it", async () => {
    const { key, token } = await server.keyring.issue({
      ...{ name: "short", namespace: "default", role: "agent" },
      scopes: ["use"],
    });
    const path = `/api/v1/sandboxes/${sandbox}/terminal`;
    const { ticket } = (await server.anonymous.with({ "x-api-key": token }).post(`${path}/ticket`)).json;
    await server.keyring.revoke(key.id);
    const socket = new WebSocket(`${server.base.replace("http", "ws")}${path}?ticket=${ticket}`);
    const [, response] = await once(
      socket.on("error", () => undefined),
      "unexpected-response",
    );
    expect(response.statusCode).toBe(401);
    socket.terminate();
  });

  it("has a scope of the table only if its role has it", () => {
    expect(isAllowed({ role: "viewer", scopes: ["operate"] }, "operate")).toBe(false);
    expect(isAllowed({ role: "admin", scopes: ["read"] }, "operate")).toBe(false);
    expect(isAllowed({ role: "operator", scopes: ["operate"] }, "operate")).toBe(true);
  });
});
