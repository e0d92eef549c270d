import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { Route } from "../../packages/server/src/http/route.ts";
import type { Api } from "../http/api.ts";
import { nameOf, sendLeast } from "../http/least-request.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, eras } from "../mcp/client.ts";
import { buildPythonRoot } from "./python-root.ts";

const serverId = "0123456789abcdef";
const use: Caller = {
  principal: { id: `server:${serverId}`, name: "server", namespace: "default", role: "operator" },
  requestId: "request",
  serverId,
};

/** Routes that answer something else than 404, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  "GET /api/v1/sandboxes/{id}/terminal": "is asked for as a WebSocket",
};

/** Tools that answer something else than not found, each with its reason. */
const otherTools: Readonly<Record<string, string>> = {
  create_session: "makes a session of this name, with a sandbox of its own",
  host_file_copy: "host access is disabled here",
  validate_code: "looks at code, and into a sandbox only for projects",
};

/** Values of a tool's required parameters. */
function leastOf(name: string, schema: { properties?: object | undefined; required?: string[] | undefined }): object {
  const least: Record<string, unknown> = {
    ...{
      command: "true",
      code: "1",
      language: "python",
      path: "a",
      content: "",
      text: "a",
      pattern: "a",
      url: "https://a",
    },
    ...{
      skills: ["a"],
      packages: ["a"],
      port: 8000,
      snapshot_id: "a",
      process_id: "a",
      timeout_seconds: 1,
      destination: "b",
      source: "a",
    },
  };
  const given = (schema.required ?? []).map((key) => [key, least[key] ?? "a"] as const);
  const has = Object.keys(schema.properties ?? {});
  const id = has.filter((key) => key === "session_id" || key === "sandbox_id");
  if (has.includes("memory_mb")) given.push(["memory_mb", 128]);
  return Object.fromEntries([...given, ...id.map((key) => [key, name] as const)]);
}

describe("[S120] a sandbox of a hosted server", () => {
  let server: TestServer;
  let admin: Api;
  let id: string;
  let snapshot: string;
  beforeAll(async () => {
    server = await openTestServer("container");
    admin = await server.as("admin");
    const layerId = await buildPythonRoot(server.layers, {});
    const root = { name: "test", layerId };
    id = (await server.fleet.create(use, { root, network: {} })).record.id;
    snapshot = (await server.fleet.use(use, id, (box) => server.storage.snapshots.create(use, box, "data"))).id;
  }, 120_000);
  afterAll(async () => {
    await server.fleet.destroy(use, id);
    await server[Symbol.asyncDispose]();
  });

  const fill = (path: string) =>
    path
      .replace("/sandboxes/{id}", `/sandboxes/${id}`)
      .replace("{snapshot_id}", snapshot)
      .replace("{port}", "8000")
      .replace(/\{\w+\}/g, "nope");
  const named = () =>
    server.routes.filter(({ path, scope }) => scope !== null && /\/sandboxes\/\{id\}|\{snapshot_id\}/.test(path));

  it("is found by its own server", async () => {
    expect((await server.fleet.get(use, id)).serverId).toBe(serverId);
    expect((await server.fleet.list(use, { limit: 9 })).map((one) => one.id)).toEqual([id]);
    expect((await server.storage.snapshots.list(use, { limit: 9 })).map((one) => one.id)).toEqual([snapshot]);
    expect(server.policies.sandboxPolicies(use, id).sandbox.allow).toEqual([]);
    const other = { ...use, serverId: "fedcba9876543210" };
    await expect(server.fleet.get(other, id)).rejects.toMatchObject({ code: "not_found" });
    await expect(server.storage.snapshots.get(other, snapshot)).rejects.toMatchObject({ code: "not_found" });
  });

  it("does not exist for any route, whoever asks", async () => {
    const routes = named();
    expect(routes.length).toBeGreaterThan(40);
    for (const route of routes.filter((one) => exceptions[nameOf(one)] === undefined)) {
      const response = await send(route);
      expect(response.status, nameOf(route)).toBe(404);
      await response.body?.cancel();
    }
    for (const path of ["/api/v1/sandboxes", "/api/v1/snapshots"]) {
      const listed = JSON.stringify((await admin.get(path)).json);
      expect(listed).not.toContain(id);
      expect(listed).not.toContain(snapshot);
    }
  });

  const send = (route: Route) =>
    sendLeast(server, admin, route, fill(route.path), {
      query: route.path.endsWith("/stat")
        ? { path: "a" }
        : route.path.endsWith("}/diff") && !route.path.includes("/sandboxes/")
          ? { with: snapshot }
          : {},
    });

  it("cannot be made, copied or filled from another's request", async () => {
    expect((await admin.post("/api/v1/sandboxes", { snapshot_id: snapshot })).status).toBe(404);
    const own = await admin.create();
    const restore = `/api/v1/sandboxes/${own}/snapshots/${snapshot}/restore`;
    expect((await admin.post(restore, undefined, { bad: true })).status).toBe(404);
    const bound = { target: { sandbox_id: id }, deliver: { as: "file" } };
    await admin.put("/api/v1/secrets/TOKEN", "a value of the server");
    expect((await admin.post("/api/v1/secrets/TOKEN/bindings", bound)).status).toBe(404);
    await admin.delete(`/api/v1/sandboxes/${own}`);
  });

  it.each(eras)("does not exist for any MCP tool of %s", async (era) => {
    const client: Client = await connectClient(server, era, { role: "admin" });
    try {
      const { tools } = await client.listTools();
      const naming = tools.filter(({ inputSchema }) => /"(session_id|sandbox_id)":/.test(JSON.stringify(inputSchema)));
      expect(naming.length).toBeGreaterThan(20);
      const found: string[] = [];
      for (const { name, inputSchema } of naming.filter((tool) => otherTools[tool.name] === undefined)) {
        const answer = await client.callTool({ name, arguments: leastOf(id, inputSchema) as Record<string, unknown> });
        const said = JSON.stringify(answer.content);
        if (answer.isError !== true || !/unknown sandbox|not_found/.test(said)) found.push(`${name}: ${said}`);
      }
      expect(found).toEqual([]);
      expect(JSON.stringify(await client.callTool({ name: "inspect_state", arguments: {} }))).not.toContain(id);
    } finally {
      await client.close();
    }
  });
});
