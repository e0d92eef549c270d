import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { lowestRole, type Role, roles } from "../../packages/server/src/core/scope.ts";
import type { Route } from "../../packages/server/src/http/route.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { nameOf as name, sendLeast } from "./least-request.ts";
import { roleOf } from "./route-roles.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

/** Open to anybody, each with its reason. */
const open: Record<string, string> = {
  "GET /healthz": "for whoever watches the process",
  "GET /readyz": "for whoever watches the process",
  "GET /": "the same for everybody",
  "GET /openapi.json": "the same for everybody",
  "GET /docs": "the same for everybody",
  "GET /docs/style.css": "the same for everybody",
  "GET /setup": "holds nothing but a button",
  "POST /setup": "proved by the one-time token",
  "GET /api/v1/signed/{pass}": "proved by the signature",
  "PUT /api/v1/signed/{pass}": "proved by the signature",
  "GET /api/v1/signing-key": "a public key",
};

/** Answers that never end are left at once. */
async function statusOf(...request: Parameters<typeof sendLeast>): Promise<number> {
  const response = await sendLeast(...request);
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
  const closed = () => server.routes.filter((route) => route.scope !== null);

  it("is closed to strangers, but for those listed with a reason", () => {
    expect(
      server.routes
        .filter((route) => route.scope === null)
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

  it("that opens a terminal does not know sandboxes of another namespace", async () => {
    const admin = keys.get("admin") as Api; // that does not name the namespace
    const socket = new WebSocket(`${server.base.replace("http", "ws")}/api/v1/sandboxes/${foreign}/terminal`, {
      headers: admin.headers,
    });
    const [code, reason] = await once(socket, "close");
    expect([code, String(reason)]).toEqual([4000, expect.stringContaining("not_found")]);
    expect(server.fleet.namespaceOf(foreign)).toBe("elsewhere");
  });

  it("takes the role that it is listed with", () => {
    const taken = closed().map((route) => [name(route), lowestRole(route.scope ?? "read")]);
    expect(Object.fromEntries(taken)).toEqual(Object.fromEntries(roleOf));
  });

  it("lets its role in, and refuses those below with an entry in the log", async () => {
    const roleOfRoute = (route: Route) => roles.indexOf(roleOf.get(name(route)) ?? "viewer");
    // The sandbox runs as long as somebody looks at it, whom another state would keep out.
    for (const route of closed().toSorted((left, right) => roleOfRoute(left) - roleOfRoute(right))) {
      const needed = roleOfRoute(route);
      for (const role of roles.slice(0, needed + 1)) {
        const status = await statusOf(server, keys.get(role) as Api, route, fill(route.path, sandbox));
        const said = `${name(route)} as ${role}`;
        if (roles.indexOf(role) < needed) expect(status, said).toBe(403);
        else expect([401, 403], said).not.toContain(status);
        // Without a session to look at, /mcp has no stream.
        const isList = route.method === "GET" && !route.path.includes("{") && route.path !== "/mcp";
        if (isList && roles.indexOf(role) === needed) expect(status, said).toBe(200);
      }
    }
    const denied = await server.store.audit.search({ type: "access.denied", limit: 1000 });
    expect(denied).toContainEqual(
      expect.objectContaining({ detail: { method: "POST", route: "/api/v1/keys", role: "operator" } }),
    );
  });

  it("that may change something says what it writes into the log", () => {
    const silent = closed().filter((route) => route.scope !== null && route.audit === null);
    const reads = silent.filter(({ method }) => method === "GET" || method === "HEAD").map(name);
    const others = silent.map(name).filter((route) => !reads.includes(route));
    expect(others.sort()).toEqual([
      "POST /api/v1/artifacts/verify",
      "POST /api/v1/audit/verify",
      "POST /api/v1/sandboxes/{id}/processes/{process}/wait",
    ]);
  });
});
