import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { permissions, type Role, roles } from "../../packages/server/src/core/principal.ts";
import type { Route } from "../../packages/server/src/http/route.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { sample } from "./sample.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

/** Open to anybody, each with its reason. */
const open: Record<string, string> = {
  "GET /healthz": "for whoever watches the process",
  "GET /readyz": "for whoever watches the process",
  "GET /openapi.json": "the same for everybody",
  "GET /docs": "the same for everybody",
  "GET /docs/style.css": "the same for everybody",
  "GET /setup": "holds nothing but a button",
  "POST /setup": "proved by the one-time token",
  "GET /api/v1/signed/{pass}": "proved by the signature",
  "PUT /api/v1/signed/{pass}": "proved by the signature",
  "GET /api/v1/signing-key": "a public key",
};

/** With the least that the route takes. Answers that never end are left at once. */
async function statusOf(
  { judge }: TestServer,
  api: Api,
  { method, path, raw }: Route,
  filled: string,
): Promise<number> {
  const { parameters, requestBody } = judge.document.paths[path]?.[method.toLowerCase()] ?? { parameters: [] };
  const schema = requestBody?.content["application/json"]?.schema;
  const query = new URLSearchParams(
    parameters.filter((one) => one.in === "query" && one.required).map(({ name }): [string, string] => [name, "x"]),
  );
  const response = await api.open(method, `${filled}?${query}`, {
    bad: true,
    ...(raw === undefined || method === "GET" || method === "HEAD" ? {} : { body: "x" }),
    ...(schema === undefined ? {} : { json: sample(judge.document, schema) }),
  });
  await response.body?.cancel();
  return response.status;
}

describe("[IDN-04] every route", () => {
  let server: TestServer;
  let sandbox: string;
  let foreign: string;
  const keys = new Map<Role, Api>();
  beforeAll(async () => {
    server = await openTestServer(engine);
    for (const role of roles) keys.set(role, await server.as(role));
    sandbox = await (keys.get("agent") as Api).create();
    foreign = await (await server.as("agent", "elsewhere")).create();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const fill = (path: string, id: string) =>
    path
      .replace("/sandboxes/{id}", `/sandboxes/${id}`)
      .replace("{port}", "8000")
      .replace(/\{\w+\}/g, "nope");
  const name = ({ method, path }: Route) => `${method} ${path}`;
  const closed = () => server.routes.filter((route) => route.permission !== null);

  it("is closed to strangers, but for those listed with a reason", () => {
    expect(
      server.routes
        .filter((route) => route.permission === null)
        .map(name)
        .sort(),
    ).toEqual(Object.keys(open).sort());
    expect(closed().length).toBeGreaterThan(40);
  });

  it("refuses no key, a wrong one, and a revoked one", async () => {
    const { key, token } = await server.keyring.issue({ name: "gone", namespace: "default", role: "admin" });
    const revoked = server.anonymous.with({ "x-api-key": token });
    expect((await revoked.get("/api/v1/limits")).status).toBe(200);
    await server.keyring.revoke(key.id);
    const wrong = server.anonymous.with({ "x-api-key": `csn_${"A".repeat(43)}` });
    for (const route of closed())
      for (const [who, api] of Object.entries({ nobody: server.anonymous, wrong, revoked }))
        expect(await statusOf(server, api, route, fill(route.path, sandbox)), `${name(route)} as ${who}`).toBe(401);
  });

  it("of a sandbox does not know those of another namespace", async () => {
    const agent = keys.get("admin") as Api; // an administrator that does not name the namespace
    for (const route of closed().filter(({ path }) => path.includes("/sandboxes/{id}"))) {
      if (name(route) === "GET /api/v1/sandboxes/{id}/terminal") continue; // below
      expect(await statusOf(server, agent, route, fill(route.path, foreign)), name(route)).toBe(404);
    }
    const socket = new WebSocket(`${server.base.replace("http", "ws")}/api/v1/sandboxes/${foreign}/terminal`, {
      headers: agent.headers,
    });
    const [code, reason] = await once(socket, "close");
    expect([code, String(reason)]).toEqual([4000, expect.stringContaining("not_found")]);
    expect(server.fleet.namespaceOf(foreign)).toBe("elsewhere");
  });

  it("takes its role, and refuses those below with an entry in the log", async () => {
    for (const route of closed()) {
      const needed = permissions[route.permission ?? "read"];
      for (const role of roles) {
        if (roles.indexOf(role) >= roles.indexOf(needed)) continue;
        const status = await statusOf(server, keys.get(role) as Api, route, fill(route.path, sandbox));
        expect(status, `${name(route)} as ${role}`).toBe(403);
      }
      if (route.method !== "GET" || route.path.includes("{")) continue;
      if (route.path === "/mcp") continue; // a stream of a session, which somebody must have opened
      const status = await statusOf(server, keys.get(needed) as Api, route, route.path);
      expect(status, `${name(route)} as ${needed}`).toBe(200);
    }
    const denied = await server.store.audit.search({ type: "access.denied", limit: 1000 });
    expect(denied).toContainEqual(
      expect.objectContaining({ detail: { method: "POST", route: "/api/v1/keys", role: "operator" } }),
    );
  });

  it("that may change something says what it writes into the log", () => {
    const silent = closed().filter((route) => route.permission !== null && route.audit === null);
    const reads = silent.filter(({ method }) => method === "GET" || method === "HEAD").map(name);
    const others = silent.map(name).filter((route) => !reads.includes(route));
    expect(others.sort()).toEqual([
      "POST /api/v1/artifacts/verify",
      "POST /api/v1/audit/verify",
      "POST /api/v1/sandboxes/{id}/processes/{process}/wait",
    ]);
  });
});
