import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../packages/server/src/http/route.ts";
import type { Api } from "./api.ts";
import { makeObjects, type Objects, private_ } from "./foreign-objects.ts";
import { nameOf, sendLeast } from "./least-request.ts";
import { openTestServer, type TestServer } from "./server.ts";

/** What is in a path and belongs to no namespace, each with what stands for it here. */
const nobodys: Objects = {
  // Hosted servers of others: test/gateway/door.test.ts.
  "sandbox/{id}": "0123456789abcdef",
  // Below what the path names before.
  "files/{path}": "SKILL.md",
  "content/{path}": "SKILL.md",
  "ports/{port}": "8000",
  "{port}/{path}": "index.html",
  // Of the place: all namespaces have the same.
  "images/{image}": "nope",
  "tools/{name}": "nope",
  // A number, and without content: test/http/tool-called.test.ts has one with content.
  "audit/{position}": "1",
  // Below the server that the path names before.
  "versions/{version}": "1",
};

/** What takes the name of another's object and does not answer 404, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  "PUT /api/v1/secrets/{name}": "a name is its namespace's own: this makes another secret",
  "DELETE /api/v1/keys/{id}": "an administrator lists and revokes keys of all namespaces",
  "GET /api/v1/sandboxes/{id}/terminal": "is asked for as a WebSocket, in authorisation.test.ts",
};

/** Lists that are of all namespaces, each with its reason. */
const ofAll: Readonly<Record<string, string>> = {
  "GET /api/v1/gc": "takes an administrator, and frees the disk that all share",
};

describe("[IDN-04] what is in another namespace", () => {
  let server: TestServer;
  let victim: Api;
  let stranger: Api;
  let theirs: Objects;
  let own: Objects;
  const block = new AbortController();
  const blocked: Promise<unknown>[] = [];
  beforeAll(async () => {
    server = await openTestServer("container", { maxConcurrent: 1 });
    victim = await server.as("admin", "elsewhere");
    stranger = await server.as("admin"); // an administrator that does not name the namespace
    own = await makeObjects(server, stranger, "default");
    theirs = await makeObjects(server, victim, "elsewhere");
  }, 180_000);
  afterAll(async () => {
    block.abort();
    await Promise.all(blocked);
    await server[Symbol.asyncDispose]();
  });

  /** A job that waits for as long as the test lasts. */
  async function makeJob(): Promise<string> {
    const id = await victim.create();
    const ask = (path: string, json: object) =>
      void blocked.push(victim.post(path, json, { signal: block.signal }).catch(() => undefined));
    const queue = async () => (await victim.get("/api/v1/queue")).json;
    ask(`/api/v1/sandboxes/${id}/exec`, { command: "sleep 1000", timeout_seconds: 1000 });
    while ((await queue()).running === 0) await sleep(10);
    ask("/api/v1/sandboxes", { engine: "container" });
    while ((await queue()).waiting === 0) await sleep(10);
    return (await queue()).jobs[0].id;
  }

  const closed = () => server.routes.filter(({ scope }) => scope !== null);
  const streams = (response: Response) => response.headers.get("content-type") === "text/event-stream";

  /** The objects that a path names: the place of each, and its kind. */
  function placesOf(path: string): { at: number; kind: string }[] {
    const parts = path.split("/");
    return parts.flatMap((part, at) => {
      const kind = `${parts[at - 1]}/${part}`;
      return part.startsWith("{") && nobodys[kind] === undefined ? [{ at, kind }] : [];
    });
  }

  function fill(path: string, objectAt: (at: number, kind: string) => string | undefined): string {
    const parts = path.split("/");
    const filled = parts.map((part, at) => {
      const kind = `${parts[at - 1]}/${part}`;
      const found = part.startsWith("{") ? (nobodys[kind] ?? objectAt(at, kind)) : part;
      if (found === undefined) throw new Error(`${path}: nothing was made to stand for ${kind}`);
      return found;
    });
    return filled.join("/");
  }

  /** What a route needs to find something of these. */
  function queryOf(path: string, objects: Objects): Record<string, string> {
    if (path.endsWith("/stat")) return { path: "SKILL.md" };
    if (path.endsWith("/search")) return { text: "what" };
    if (path.endsWith("/approvals/{id}/wait")) return { timeout_seconds: "0" };
    if (path.endsWith("{server}/diff")) return { from: "1", to: "1" };
    return path === "/api/v1/snapshots/{snapshot_id}/diff" ? { with: objects["snapshots/{snapshot_id}"] ?? "" } : {};
  }

  const ask = (api: Api, route: Route, path: string, objects: Objects) =>
    sendLeast(server, api, route, path, {
      query: queryOf(route.path, objects),
      ...(route.path.endsWith("/bindings") ? { json: { target: { all: true }, deliver: { as: "file" } } } : {}),
    });

  /** All that a caller is told by routes that change nothing, with its own objects in their places. */
  async function readAll(api: Api, objects: Objects): Promise<Map<string, string>> {
    const told = new Map<string, string>();
    for (const route of closed().filter(({ method }) => method === "GET")) {
      const isNobodys = /\{(port|image|position)\}|\/tools\/|\/terminal$|\/mcp$/.test(route.path);
      if (isNobodys || placesOf(route.path).some(({ kind }) => objects[kind] === undefined)) continue;
      const path = fill(route.path, (_, kind) => objects[kind]);
      const response = await ask(api, route, path, objects);
      expect(response.status, `${nameOf(route)} of its own`).toBe(200);
      if (streams(response)) await response.body?.cancel();
      else told.set(nameOf(route), await response.text());
    }
    return told;
  }

  it("is in no list, file or answer about what is one's own", async () => {
    const names = Object.values(theirs);
    const control = [...(await readAll(victim, theirs)).values()].join();
    for (const name of names) expect(control).toContain(name);
    const told = await readAll(stranger, own);
    expect(told.size).toBeGreaterThan(40);
    for (const [route, text] of told) {
      if (ofAll[route] !== undefined) continue;
      for (const name of names) expect(text, `${route} tells of ${name}`).not.toContain(name);
      expect(text, route).not.toContain('"namespace":"elsewhere"');
    }
  });

  /** Of several objects in a path each in turn: those before it are the caller's own, those behind it the other's too. */
  async function tryAll(routes: readonly Route[], objects: Objects): Promise<void> {
    const tried = new Set<string>();
    for (const route of routes)
      for (const place of placesOf(route.path)) {
        tried.add(place.kind);
        if (exceptions[nameOf(route)] !== undefined) continue;
        const path = fill(route.path, (at, kind) => (at < place.at ? own : objects)[kind]);
        const response = await ask(stranger, route, path, objects);
        const said = `${nameOf(route)} with another's ${place.kind}`;
        expect(response.status, said).toBe(404);
        expect(await response.text(), said).not.toContain(private_);
      }
    expect([...tried].sort()).toEqual(Object.keys(objects).sort());
  }

  const isOfJobs = ({ path }: Route) => path.includes("{job_id}");

  it("does not exist for any route, wherever its path takes an id", () =>
    tryAll(
      closed().filter((route) => !isOfJobs(route)),
      theirs,
    ));

  it("is there as before for its own namespace", async () => {
    const told = [...(await readAll(victim, theirs)).values()].join();
    for (const name of Object.values(theirs)) expect(told).toContain(name);
    expect(server.errors).toEqual([]);
  });

  it("keeps its secret when a stranger gives one of its own the same name", async () => {
    const path = `/api/v1/secrets/${theirs["secrets/{name}"]}`;
    const before = (await victim.get(path)).json;
    expect((await stranger.put(path, "another value")).status).toBe(201);
    expect((await stranger.get(path)).json).toMatchObject({ namespace: "default", bindings: [] });
    expect((await victim.get(path)).json).toEqual(before);
  });

  it("does not exist while it waits in the queue either", async () => {
    const job = await makeJob();
    expect((await stranger.get("/api/v1/queue")).json.jobs).toEqual([]);
    await tryAll(closed().filter(isOfJobs), { "queue/{job_id}": job });
    expect((await victim.get("/api/v1/queue")).json).toMatchObject({ running: 1, jobs: [{ id: job }] });
  });
});
