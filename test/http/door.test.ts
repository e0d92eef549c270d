import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, connect, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openFastify } from "../../packages/server/src/http/fastify-app.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

/** What is said here is said before any sandbox: one engine does. */
const [engine = "container"] = engines;

describe("the door of the REST API", () => {
  let server: TestServer;
  let api: Api;
  let admin: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
    admin = await server.as("admin");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const list = "/api/v1/sandboxes";

  it("[IDN-01] takes a key in X-API-Key or as a Bearer token, and no other", async () => {
    const key = api.headers["x-api-key"] ?? "";
    const say = async (headers: Record<string, string>) => (await server.anonymous.get(list, { headers })).status;
    expect(await say({ "x-api-key": key })).toBe(200);
    expect(await say({ authorization: `Bearer ${key}` })).toBe(200);
    expect(await say({})).toBe(401);
    expect(await say({ "x-api-key": `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}` })).toBe(401);
    expect(await say({ "x-api-key": "" })).toBe(401);
    expect(await say({ authorization: `Basic ${key}` })).toBe(401);
    expect(await say({ authorization: `Bearer ${key}`, "x-api-key": "another" })).toBe(401);
  });

  it("[IDN-01] shows a key once, keeps its hash, and lets it in until it expires or is revoked", async () => {
    const created = await admin.post("/api/v1/keys", { name: "ci", role: "viewer", expires_in_seconds: 3600 });
    expect(created.status).toBe(201);
    const { id, key } = created.json;
    const holder = server.anonymous.with({ "x-api-key": key });
    expect((await holder.get(list)).status).toBe(200);
    const shown = await admin.get("/api/v1/keys");
    expect(shown.json.find((one: { id: string }) => one.id === id)).toMatchObject({ name: "ci", role: "viewer" });
    expect(shown.bytes.toString()).not.toContain(key);
    expect(JSON.stringify(await server.store.keys.list())).not.toContain(key);
    expect((await admin.delete(`/api/v1/keys/${id}`)).status).toBe(204);
    expect((await holder.get(list)).status).toBe(401);
    const short = await server.keyring.issue({ name: "x", namespace: "default", role: "admin", expiresAtMs: 1 });
    expect((await server.anonymous.get(list, { headers: { "x-api-key": short.token } })).status).toBe(401);
  });

  it("[IDN-04] lets an administrator name a namespace, and nobody else", async () => {
    const elsewhere = { "x-caisson-namespace": "elsewhere" };
    expect((await admin.get("/api/v1/queue", { headers: elsewhere })).json.waiting_by_namespace).toBeTypeOf("object");
    expect((await api.get(list, { headers: elsewhere })).status).toBe(403);
    expect((await api.get(list, { headers: { "x-caisson-namespace": "default" } })).status).toBe(200);
    expect((await admin.get(list, { headers: { "x-caisson-namespace": "../x" } })).status).toBe(400);
  });

  it("[API-02] refuses with problem documents, whatever is wrong", async () => {
    const json = { "content-type": "application/json" };
    const cases: [number, string, string, string, object][] = [
      [404, "not_found", "GET", "/nothing/here", {}],
      [405, "unsupported", "DELETE", list, {}],
      [400, "invalid", "POST", list, { body: "{nope", headers: json }],
      [400, "invalid", "POST", list, { body: '{"__proto__":{"a":1}}', headers: json }],
      [400, "invalid", "POST", list, { body: '{"\\u005f_proto__":{"a":1}}', headers: json }],
      [400, "invalid", "POST", list, { body: "[]", headers: json }],
      [400, "invalid", "POST", list, { json: { memory: 1 } }],
      [400, "invalid", "POST", list, { json: { memory_mb: "512" } }],
      [400, "invalid", "POST", list, { json: { memory_mb: 1e9 } }],
      [400, "invalid", "GET", `${list}?limit=0`, {}],
      [400, "invalid", "GET", `${list}?nope=1`, {}],
      [400, "invalid", "GET", `${list}/%zz`, {}],
      [415, "unsupported", "POST", list, { body: "a=b", headers: { "content-type": "text/plain" } }],
      [413, "too_large", "POST", list, { body: `"${"x".repeat(1_100_000)}"`, headers: json }],
      [404, "not_found", "GET", `${list}/nope`, {}],
    ];
    for (const [status, code, method, path, sent] of cases) {
      const response = await api.open(method, path, { ...sent, bad: true });
      const problem = (await response.json()) as Record<string, unknown>;
      const about = `${method} ${path} ${JSON.stringify(sent).slice(0, 60)}`;
      expect(response.headers.get("content-type"), about).toMatch(/^application\/problem\+json/);
      expect([response.status, problem.status, problem.code], about).toEqual([status, status, code]);
      expect(problem, about).toMatchObject({ type: expect.any(String), title: expect.any(String) });
      expect(problem.request_id, about).toBe(response.headers.get("x-request-id"));
      expect(JSON.stringify(problem), about).not.toMatch(/node_modules|\.ts:\d/);
    }
    expect((await api.open("DELETE", list, { bad: true })).headers.get("allow")).toBe("POST, GET");
  });

  it("says with an answer how long it took, and not with a refusal", async () => {
    const answered = await api.open("GET", list);
    expect(answered.headers.get("server-timing")).toMatch(/^total;dur=\d+\.\d{3}, act;dur=\d+\.\d{3}$/);
    const refused = await api.open("GET", `${list}/nope`, { bad: true });
    expect(refused.headers.has("server-timing")).toBe(false);
  });

  it("[API-02] names the field that was probably meant, at each depth", async () => {
    const refused = async (path: string, body: object) => (await api.post(path, body, { bad: true })).json;
    expect(await refused(list, { memory: 512 })).toMatchObject({ code: "invalid", hint: "did you mean memory_mb?" });
    const limits = { max_procesess: 3 };
    expect(await refused(`${list}/a/exec`, { command: "true", resource_limits: limits })).toMatchObject({
      hint: "did you mean max_processes?",
    });
    expect(await refused(list, { zzz: 1 })).not.toHaveProperty("hint");
    const query = await api.get(`${list}?limt=1`, { bad: true });
    expect(query.json).toMatchObject({ hint: "did you mean limit?" });
  });

  it("[API-01] says at its root where to go, as JSON or as text", async () => {
    const asked = { accept: "application/json" };
    const { json } = await server.anonymous.get("/", { headers: asked });
    expect(json).toEqual({
      ...{ version: "0.0.0", docs: "/docs", openapi: "/openapi.json", mcp: "/mcp", help: "caisson --help" },
    });
    const shown = await server.anonymous.get("/");
    expect(shown.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    for (const place of ["/docs", "/openapi.json", "/mcp", "caisson --help"])
      expect(shown.bytes.toString()).toContain(place);
  });

  it("[API-02] names the field that is wrong", async () => {
    const { json } = await api.post(list, { labels: { a: 1 }, nope: 2 }, { bad: true });
    expect(json.details.issues.map((issue: { path: string }) => issue.path)).toContain("body.labels.a");
    expect(json.detail).toContain("body");
  });

  it("answers what is not HTTP with a problem too", async () => {
    const socket = connect(Number(new URL(server.base).port), "127.0.0.1");
    socket.end("NONSENSE\r\n\r\n");
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 .*application\/problem\+json.*"code":"invalid"/s);
  });

  it("closes the connection of what is no request for it, also where the client keeps it open", async () => {
    const { browsers } = server;
    await once(browsers.server.listen(0, "127.0.0.1"), "listening");
    const own = openFastify({ headersTimeoutMs: 100 }, []);
    await own.listen({ host: "127.0.0.1", port: 0 });
    const upgrade = "host: 8000-x.localhost\r\nconnection: upgrade\r\nupgrade: websocket";
    const cases = [
      [own.server, 405, "CONNECT x:443 HTTP/1.1\r\nhost: localhost\r\n\r\n"],
      [own.server, 400, "NONSENSE\r\n\r\n"],
      [own.server, 408, "GET / HTTP/1.1\r\n"],
      [browsers.server, 403, `GET / HTTP/1.1\r\n${upgrade}\r\n\r\n`],
    ] as const;
    const ask = async ([of, status, request]: (typeof cases)[number]) => {
      const { port } = of.address() as AddressInfo;
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => undefined);
      socket.write(request);
      expect(await text(socket)).toContain(`HTTP/1.1 ${status} `);
      return socket;
    };
    const sockets = await Promise.all(cases.map(ask));
    const connections = (of: Server) => promisify(of.getConnections.bind(of))();
    const left = () => Promise.all([connections(own.server), connections(browsers.server)]);
    await vi.waitFor(async () => expect(await left()).toEqual([0, 0]), { timeout: 10_000 });
    for (const socket of sockets) socket.destroy();
    await own.close();
  });

  it("[IDN-07] is not opened by another host name or from another origin", async () => {
    const say = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const { port } = new URL(server.base);
        request({ port, path: "/healthz", headers }, (response) => resolve(response.resume().statusCode))
          .on("error", reject)
          .end();
      });
    const { host } = new URL(server.base);
    expect(await say({ host })).toBe(200);
    expect(await say({ host: "localhost" })).toBe(200);
    expect(await say({ host: "evil.example" })).toBe(403);
    expect(await say({ host: "127.0.0.1.evil.example" })).toBe(403);
    expect(await say({ host, origin: `http://${host}` })).toBe(200);
    expect(await say({ host, origin: "https://evil.example" })).toBe(403);
    expect(await say({ host, origin: "null" })).toBe(403);
    await using fresh = openFastify({}, []);
    const socket = connect(Number(new URL(await fresh.listen({ host: "127.0.0.1", port: 0 })).port), "127.0.0.1");
    socket.write("GET / HTTP/1.0\r\n\r\n"); // the first of all, and by no name
    expect(await text(socket)).toMatch(/^HTTP\/1.1 403 /);
  });

  it("[IDN-07] answers the pages of a configured origin, and their preflights", async () => {
    const origin = "https://dashboard.example";
    await using open = await openTestServer(engine, { origins: [origin] });
    const preflight = await fetch(open.base + list, { method: "OPTIONS", headers: { origin } });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, origin]);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("x-api-key");
    expect(preflight.headers.get("access-control-allow-credentials")).toBeNull();
    const answer = await (await open.as("viewer")).get(list, { headers: { origin } });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
    const other = await fetch(open.base + list, { method: "OPTIONS", headers: { origin: "https://evil.example" } });
    expect(other.status).toBe(403);
  });

  it("[API-02] names in Allow the methods of a path, and of no other", async () => {
    for (const path of new Set(server.routes.map((route) => route.path))) {
      const own = server.routes.filter((route) => route.path === path).map(({ method }) => method);
      const url = server.base + path.replace(/\{\w+\}/g, "1");
      for (const [method, status] of [
        ["OPTIONS", 204],
        ["PROPFIND", 405],
      ] as const) {
        const answer = await fetch(url, { method });
        expect([answer.status, answer.headers.get("allow")], `${method} ${path}`).toEqual([status, own.join(", ")]);
        await answer.body?.cancel();
      }
    }
    expect((await fetch(`${server.base}/nothing`, { method: "OPTIONS" })).status).toBe(404);
  });

  it("lets a client go that stops in the middle of its body", async () => {
    await using impatient = await openTestServer(engine, { bodyIdleMs: 100 });
    const key = (await impatient.as("agent")).headers["x-api-key"];
    const socket = connect(Number(new URL(impatient.base).port), "127.0.0.1");
    const headers = `host: localhost\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: 100`;
    socket.write(`POST ${list} HTTP/1.1\r\n${headers}\r\n\r\n{`);
    expect(await text(socket).catch((error: Error) => error.message)).toMatch(/^(|read ECONNRESET)$/);
  });

  it("[S94] lets a client go that spins its JSON body out, however little it pauses", async () => {
    await using impatient = await openTestServer(engine, { bodyMs: 500 });
    const key = (await impatient.as("agent")).headers["x-api-key"];
    const socket = connect(Number(new URL(impatient.base).port), "127.0.0.1").on("error", () => undefined);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const headers = `host: localhost\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: 100000`;
    socket.write(`POST ${list} HTTP/1.1\r\n${headers}\r\n\r\n{`);
    const timer = setInterval(() => socket.write(" "), 20);
    await closed;
    clearInterval(timer);
  });

  it("does not wait for the body of what it has no route for", async () => {
    await using impatient = await openTestServer(engine, { bodyIdleMs: 3_600_000 });
    const { port } = new URL(impatient.base);
    for (const [request, status] of [
      ["POST /nothing", 404],
      [`PUT ${list}`, 405],
    ] as const) {
      const socket = connect(Number(port), "127.0.0.1");
      const headers = "host: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 100";
      socket.write(`${request} HTTP/1.1\r\n${headers}\r\n\r\n{`);
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(answer.toString(), request).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      socket.destroy();
    }
  });

  it("takes a body that comes in one piece with its head, in pieces, in chunks, and several requests at once", async () => {
    const key = api.headers["x-api-key"] ?? "";
    const head = `POST ${list} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n`;
    const body = '{"nope":1}';
    const whole = `${head}content-length: ${body.length}\r\n\r\n${body}`;
    const chunked = `${head}transfer-encoding: chunked\r\n\r\n4\r\n{"no\r\n6\r\npe":1}\r\n0\r\n\r\n`;
    const socket = connect(Number(new URL(server.base).port), "127.0.0.1").setNoDelay();
    let answered = "";
    socket.on("data", (piece) => {
      answered += piece;
    });
    const answers = (count: number) =>
      vi.waitFor(() => expect(answered.match(/HTTP\/1.1 400 .*?'?nope/gs) ?? []).toHaveLength(count));
    socket.write(whole);
    await answers(1);
    for (const piece of [whole.slice(0, -4), whole.slice(-4, -1), whole.slice(-1)]) {
      socket.write(piece);
      await new Promise(setImmediate);
    }
    await answers(2);
    socket.write(chunked);
    await answers(3);
    socket.write(whole + whole + chunked);
    await answers(6);
    socket.destroy();
  });

  it("[IDN-07] says on every answer what a browser may do with it, and sets no cookie", async () => {
    for (const path of ["/docs", "/healthz", "/nothing", "/openapi.json"]) {
      const { headers } = await fetch(server.base + path);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("set-cookie")).toBeNull();
      expect(headers.get("access-control-allow-origin")).toBeNull();
    }
    expect(await (await fetch(`${server.base}/docs`)).text()).not.toContain("<script");
  });

  it("[IDN-03] has a one-time link that shows an administrator's key, once", async () => {
    const link = server.setupLink();
    expect((await server.anonymous.get(link)).bytes.toString()).toContain("<form");
    const used = await server.anonymous.post(link);
    expect(used.status).toBe(200);
    expect((await server.anonymous.get("/api/v1/keys", { headers: { "x-api-key": used.json.key } })).status).toBe(200);
    expect((await server.anonymous.post(link)).status).toBe(403);
    expect((await server.anonymous.post("/setup?token=guess")).status).toBe(403);
    const rows = await server.store.audit.search({ limit: 1000 });
    expect(JSON.stringify(rows)).not.toContain(used.json.key);
  });

  it("[IDN-07] slows a key down that asks too much, and no other", async () => {
    await using slow = await openTestServer(engine, { rate: { perSecond: 0.001, burst: 2 } });
    const [one, other] = [await slow.as("viewer"), await slow.as("viewer")];
    expect([(await one.get(list)).status, (await one.get(list)).status]).toEqual([200, 200]);
    const refused = await one.get(list);
    expect([refused.status, refused.json.code]).toEqual([429, "limit_exceeded"]);
    expect(Number(refused.headers.get("retry-after"))).toBe(refused.json.retry_after);
    expect((await other.get(list)).status).toBe(200);
  });

  it("[OBS-03] says whether it lives and whether it is ready", async () => {
    expect((await server.anonymous.get("/healthz")).json).toEqual({ status: "ok" });
    expect((await server.anonymous.get("/readyz")).json).toEqual({ status: "ready" });
    const ready = async () => {
      throw new Error("the store does not answer: secret detail");
    };
    await using ill = await openTestServer(engine, { ready });
    const { status, json } = await ill.anonymous.get("/readyz");
    expect([status, json.code]).toEqual([503, "unavailable"]);
    expect(JSON.stringify(json)).not.toContain("secret detail");
    expect((await ill.anonymous.get("/healthz")).status).toBe(200);
  });

  it("tells nothing of an error that nobody foresaw, but a request id", async () => {
    await using broken = await openTestServer(engine);
    vi.spyOn(broken.store.runs, "list").mockRejectedValue(new Error("at /root/secret.ts:12"));
    const key = await broken.as("agent");
    const id = await key.create();
    const { status, json } = await key.get(`${list}/${id}/runs`);
    expect([status, json.code]).toEqual([500, "internal"]);
    expect(JSON.stringify(json)).not.toContain("secret");
    expect(broken.errors.map(String).join()).toContain("secret.ts");
  });
});
