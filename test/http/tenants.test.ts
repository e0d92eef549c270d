import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { engines } from "../harness.ts";
import { backpressure } from "../journal.ts";
import type { Api } from "./api.ts";
import { messages } from "./messages.ts";
import { RawClient } from "./raw.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const root = "/api/v1/sandboxes";

/** Two tenants of one server: all that one can name of the other's is tried. */
describe("a hostile tenant", () => {
  let server: TestServer;
  let victim: Api;
  let tenant: Api;
  let operator: Api;
  let own: string;
  let other: string;
  beforeAll(async () => {
    server = await openTestServer(engine, { webhooksMayBePrivate: false });
    victim = await server.as("agent", "victim");
    tenant = await server.as("agent", "tenant");
    operator = await server.as("operator", "tenant");
    other = await victim.create({ session_key: "shared", labels: { secret: "victims-label" } });
    await victim.put(`${root}/${other}/files/secret.txt`, "victims-file");
    own = await tenant.create();
    await tenant.put(`${root}/${own}/files/own.txt`, "own file");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[IDN-04] sees nothing of another's sandbox whose id it knows, and what it is told is what it is told of none", async () => {
    const known = await tenant.get(`${root}/${other}/files/secret.txt`);
    const made = await tenant.get(`${root}/${own.split("").reverse().join("")}/files/secret.txt`);
    expect([known.status, made.status]).toEqual([404, 404]);
    const told = (id: string, { json }: typeof known) =>
      JSON.stringify({ ...json, request_id: "" }).replaceAll(id, "ID");
    expect(told(other, known)).toBe(told(own.split("").reverse().join(""), made));
  });

  it("[IDN-04] cannot name a namespace, whatever the header says", async () => {
    for (const name of ["victim", "VICTIM", "victim ", "victim,tenant", "tenant,victim"]) {
      const { status } = await tenant.get(`${root}/${other}`, { headers: { "x-caisson-namespace": name } });
      expect([400, 403, 404], name).toContain(status);
    }
    const { status } = await operator.get(root, { headers: { "x-caisson-namespace": "victim" } });
    expect(status).toBe(403);
  });

  it("[LIF-05] gets a sandbox of its own for another's session_key", async () => {
    const { status, json } = await tenant.post(root, { session_key: "shared" });
    expect([status, json.namespace]).toEqual([201, "tenant"]);
    expect(json.id).not.toBe(other);
    for (const key of ["shared\0victim", "victim/shared", "victim\nshared", '["victim","shared"]']) {
      const found = await tenant.get(`${root}?session_key=${encodeURIComponent(key)}`);
      expect(found.json).toEqual([]);
    }
    await tenant.delete(`${root}/${json.id}`);
  });

  it("[API-03] gets no answer of another's for its Idempotency-Key, nor of a colleague's", async () => {
    const headers = { "idempotency-key": "guessed" };
    const theirs = await victim.post(root, { labels: { a: "theirs" } }, { headers });
    const mine = await tenant.post(root, { labels: { a: "theirs" } }, { headers });
    const colleagues = await operator.post(root, { labels: { a: "theirs" } }, { headers });
    expect(new Set([theirs, mine, colleagues].map(({ json }) => json.id)).size).toBe(3);
    expect(mine.headers.get("idempotency-replayed")).toBeNull();
    await victim.delete(`${root}/${theirs.json.id}`);
    for (const { json } of [mine, colleagues]) await tenant.delete(`${root}/${json.id}`);
  });

  it("[FIL-06] cannot change a signed URL into another", async () => {
    const { url } = (await tenant.post(`${root}/${own}/signed-urls`, { method: "GET", path: "own.txt" })).json;
    const [payload = "", mac = ""] = url.split("/").at(-1).split(".");
    const pass = JSON.parse(Buffer.from(payload, "base64url").toString());
    const forged = (changes: object) => Buffer.from(JSON.stringify({ ...pass, ...changes })).toString("base64url");
    const tries = [
      `${forged({ sandboxId: other, namespace: "victim", path: "secret.txt" })}.${mac}`,
      `${forged({ expiresAtMs: 1e15 })}.${mac}`,
      `${forged({ nonce: "another" })}.${mac}`,
      `${payload}.`,
      `${payload}.${"A".repeat(mac.length)}`,
      `${payload}`,
      `.${mac}`,
      `${payload}.${mac.slice(0, -2)}`,
      `${Buffer.from("null").toString("base64url")}.${mac}`,
    ];
    for (const token of tries) {
      const { status, bytes } = await server.anonymous.get(`/api/v1/signed/${token}`, { bad: true });
      expect([400, 403], token).toContain(status);
      expect(bytes.toString()).not.toMatch(/own file|victims-file/);
    }
    expect((await server.anonymous.get(url)).bytes.toString()).toBe("own file");
    expect((await tenant.post(`${root}/${other}/signed-urls`, { method: "GET", path: "secret.txt" })).status).toBe(404);
  });

  it("[API-02] learns nothing from a cursor that it made up", async () => {
    for (const cursor of [other, "0", "-1", "1e9", "' or 1=1 --", "%00", "9007199254740993", "\u{1F4A3}"]) {
      const name = encodeURIComponent(cursor);
      for (const path of [root, "/api/v1/snapshots", "/api/v1/approvals", "/api/v1/audit"]) {
        const { status, bytes } = await operator.get(`${path}?cursor=${name}`);
        expect([200, 400, 404], `${path} ${cursor}`).toContain(status);
        expect(bytes.toString()).not.toMatch(/victim/);
      }
    }
  });

  it("[IDN-04] finds no snapshot, webhook, process or context of another's, in any place that takes its id", async () => {
    const snapshot = (await victim.post(`${root}/${other}/snapshots`, {})).json.id as string;
    const process = (await victim.post(`${root}/${other}/processes`, { command: "cat", stdin: true })).json
      .id as string;
    const theirs = await server.as("operator", "victim");
    const webhook = (await theirs.post("/api/v1/webhooks", { url: "https://192.0.2.1/" })).json.id as string;
    const mine = (await tenant.post(`${root}/${own}/snapshots`, {})).json.id as string;
    const tries: [string, string, object?][] = [
      ["GET", `/api/v1/snapshots/${snapshot}`],
      ["GET", `/api/v1/snapshots/${snapshot}/files`],
      ["GET", `/api/v1/snapshots/${snapshot}/diff?with=${mine}`],
      ["GET", `/api/v1/snapshots/${mine}/diff?with=${snapshot}`],
      ["DELETE", `/api/v1/snapshots/${snapshot}`],
      ["POST", `${root}/${own}/snapshots/${snapshot}/restore`],
      ["GET", `${root}/${own}/snapshots/${snapshot}/diff`],
      ["POST", root, { snapshot_id: snapshot }],
      ["GET", `${root}/${own}/processes/${process}`],
      ["GET", `${root}/${own}/processes/${process}/output`],
      ["POST", `${root}/${own}/processes/${process}/stdin`, { data: "x" }],
      ["DELETE", `${root}/${own}/processes/${process}`],
      ["GET", `/api/v1/webhooks/${webhook}/deliveries`],
      ["DELETE", `/api/v1/webhooks/${webhook}`],
    ];
    for (const [method, path, json] of tries) {
      const { status } = await operator.send(method, path, json === undefined ? {} : { json });
      expect(status, `${method} ${path}`).toBe(404);
    }
    expect((await tenant.get(`/api/v1/snapshots?sandbox_id=${other}`)).json).toEqual([]);
    expect((await operator.get("/api/v1/webhooks")).json).toEqual([]);
    expect((await victim.get(`/api/v1/snapshots/${snapshot}`)).status).toBe(200);
    expect((await victim.get(`${root}/${other}/processes/${process}`)).json.state).toBe("running");
    expect((await theirs.delete(`/api/v1/webhooks/${webhook}`)).status).toBe(204);
    expect((await tenant.get(root)).json.map(({ id }: { id: string }) => id)).toEqual([own]);
  });

  it("[IDN-04] neither sees, waits for, answers nor revokes a question of another's, nor asks for its sandbox", async () => {
    const path = "/api/v1/approvals";
    const question = (await victim.post(path, { host: "victim.example.com", sandbox_id: other })).json.id as string;
    const tries: [string, string, object?][] = [
      ["GET", `${path}/${question}`],
      ["GET", `${path}/${question}/wait?timeout_seconds=0`],
      ["POST", `${path}/${question}/decide`, { approve: true }],
      ["POST", `${path}/${question}/revoke`],
      ["POST", path, { host: "a.example.com", sandbox_id: other }],
    ];
    for (const [method, at, json] of tries) {
      const { status, bytes } = await operator.send(method, at, json === undefined ? {} : { json });
      expect(status, `${method} ${at}`).toBe(404);
      expect(bytes.toString()).not.toContain("victim.example.com");
    }
    expect((await operator.get(path)).json).toEqual([]);
    expect((await operator.get(`${path}?sandbox_id=${other}`)).json).toEqual([]);
    expect((await operator.get(`${path}?cursor=${question}`)).status).toBe(404);
    const theirs = await server.as("operator", "victim");
    expect((await theirs.post(`${path}/${question}/decide`, { approve: true, scope: "always" })).status).toBe(200);
    const mine = await tenant.post(path, { host: "victim.example.com", sandbox_id: own });
    expect([mine.status, mine.json.state]).toEqual([201, "pending"]);
  });

  it("[EVT-01] hears and reads nothing of another's, whatever it filters by", async () => {
    const stream = await tenant.open("GET", `/api/v1/events?after=0&sandbox_id=${other}`);
    const open = await tenant.open("GET", "/api/v1/events?after=0");
    await victim.post(`${root}/${other}/exec`, { command: "true" });
    await tenant.post(`${root}/${own}/exec`, { command: "true" });
    for await (const message of messages(open)) {
      if (message.type === "heartbeat") continue;
      expect(message.namespace).toBe("tenant");
      if (message.type === "execution.completed" || message.type === "run.finished") break;
    }
    await stream.body?.cancel();
    expect((await tenant.get("/api/v1/events?all_namespaces=true")).status).toBe(403);
    for (const filter of [`sandbox_id=${other}`, "text=victim", "actor=system", "type=sandbox.created"]) {
      const { json, bytes } = await operator.get(`/api/v1/audit?${filter}`);
      expect(bytes.toString(), filter).not.toContain(other);
      for (const row of json) expect(row.namespace).toBe("tenant");
    }
    const exported = (await operator.get(`/api/v1/audit/export?sandbox_id=${other}`)).bytes.toString();
    expect(exported).not.toContain(other);
  });

  it("[EVT-02] gets no webhook to this machine or its networks", async () => {
    const knocks: string[] = [];
    const inside = createServer((request, response) => {
      knocks.push(request.url ?? "");
      response.end();
    }).listen(0, "127.0.0.1");
    await vi.waitFor(() => expect(inside.address()).not.toBeNull());
    const { port } = inside.address() as AddressInfo;
    const hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0", "127.1"];
    for (const host of hosts) {
      const { json } = await operator.post("/api/v1/webhooks", { url: `http://${host}:${port}/` });
      await server.journal.record(backpressure("tenant", 1));
      const path = `/api/v1/webhooks/${json.id}/deliveries`;
      await vi.waitFor(async () => {
        const [delivery] = (await operator.get(path)).json;
        expect(delivery).toMatchObject({
          state: "dead",
          last_error: expect.stringContaining("address of this machine"),
        });
      }, 20_000);
      await operator.delete(`/api/v1/webhooks/${json.id}`);
    }
    inside.close();
    expect(knocks).toEqual([]);
    for (const url of ["file:///etc/passwd", "ftp://example.org/", "http://user:password@example.org/", "javascript:1"])
      expect((await operator.post("/api/v1/webhooks", { url }, { bad: true })).status, url).toBe(400);
  });

  it("[FIL-01] reaches nothing outside its workspace by any spelling of a path", async () => {
    using client = new RawClient(server.base);
    const spellings = [
      "../../../etc/passwd",
      "..%2f..%2f..%2fetc%2fpasswd",
      "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
      "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
      "/etc/passwd",
      "%2fetc%2fpasswd",
      "//etc//passwd",
      "workspace/../../etc/passwd",
      "%252e%252e%252fetc%252fpasswd",
      "own.txt%00.png",
      "own.txt%2f..%2f..%2f..%2fetc%2fpasswd",
      "..\\..\\etc\\passwd",
      "proc/self/environ",
      "%2fproc%2f1%2fenviron",
      "%c0%ae%c0%ae/etc/passwd",
    ];
    for (const spelling of spellings)
      for (const method of ["GET", "HEAD", "DELETE", "PUT"]) {
        const path = `${root}/${own}/files/${spelling}`;
        const body = method === "PUT" ? "written" : undefined;
        const answer = await client.send({ method, path, headers: { ...tenant.headers }, body });
        expect(answer?.status, `${method} ${spelling}`).not.toBe(500);
        expect(answer?.bytes.toString(), `${method} ${spelling}`).not.toMatch(/root:|PATH=/);
      }
    expect((await tenant.get(`${root}/${other}/../${own}/files/own.txt`)).bytes.toString()).toBe("own file");
    const escaped = await client.send({
      method: "GET",
      path: `${root}/${own}/files/..%2f..%2f${other}/files/secret.txt`,
      headers: { ...tenant.headers },
    });
    expect(escaped?.bytes.toString()).not.toContain("victims-file");
  });

  it("[IDN-04] opens no terminal of another's with a ticket for its own", async () => {
    const { ticket } = (await tenant.post(`${root}/${own}/terminal/ticket`)).json;
    const socket = new WebSocket(`${server.base.replace("http", "ws")}${root}/${other}/terminal?ticket=${ticket}`);
    const refused = new Promise<number>((resolve) => {
      socket.on("unexpected-response", (_, response) => resolve(response.statusCode ?? 0)).on("error", () => undefined);
      socket.on("close", (code) => resolve(code));
    });
    expect(await refused).toBe(401);
    socket.terminate();
  });

  it("left the other's sandbox as it was", async () => {
    expect((await victim.get(`${root}/${other}/files/secret.txt`)).bytes.toString()).toBe("victims-file");
    expect((await victim.get(root)).json.map(({ id }: { id: string }) => id)).toEqual([other]);
    expect(server.errors).toEqual([]);
  });
});
