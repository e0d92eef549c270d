import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const hidden = "value-that-must-not-leave-4711";

interface PortResponse {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  words: string | undefined;
}

describe.each(engines)("ports of a sandbox (%s)", (engine) => {
  let server: TestServer;
  let agent: Api;
  let operator: Api;
  let id: string;
  let at: string;
  let browserPort: number;
  beforeAll(async () => {
    server = await openTestServer(engine);
    server.browsers.server.listen(0, "127.0.0.1");
    await once(server.browsers.server, "listening");
    browserPort = (server.browsers.server.address() as AddressInfo).port;
    [agent, operator] = [await server.as("agent"), await server.as("operator")];
    id = await agent.create();
    at = `/api/v1/sandboxes/${id}`;
    await agent.put(`${at}/files/app.py`, await readFile(join(import.meta.dirname, "port-app.py")));
    await agent.put(`${at}/files/value`, `the ${hidden} is here`);
    const { json } = await agent.post(`${at}/processes`, { command: ["python3", "app.py"] });
    const output = () => agent.get(`${at}/processes/${json.id}/output`);
    await vi.waitFor(async () => expect((await output()).json.next_offset).toBeGreaterThan(0), { timeout: 30_000 });
  }, 120_000);
  afterAll(() => server[Symbol.asyncDispose]());

  const byPath = (path: string, init: RequestInit = {}, api = agent) =>
    fetch(`${server.base}${at}/ports/8000${path}`, {
      redirect: "manual",
      ...init,
      headers: { ...api.headers, ...init.headers },
    });

  /** As a browser would: by the host's own name, which is this machine. */
  function browse(path: string, { host = `8000-${id}.localhost`, headers = {} } = {}): Promise<PortResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<PortResponse>();
    const sent = request({
      host: "127.0.0.1",
      port: browserPort,
      path,
      headers: { host: `${host}:${browserPort}`, ...headers },
    });
    sent.on("error", reject).on("response", (response) => {
      const parts: Buffer[] = [];
      response
        .on("data", (part) => parts.push(part))
        .on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            words: response.statusMessage,
            headers: response.headers,
            text: Buffer.concat(parts).toString(),
          }),
        );
    });
    sent.end();
    return promise;
  }

  /** Asks the browsers' port for a WebSocket, and says hello on it; returns the first frame. */
  function upgraded(headers: Record<string, string>, path = "/socket"): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const asking = {
      ...{ connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
      ...{ "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", host: `8000-${id}.localhost:${browserPort}` },
    };
    const sent = request({ host: "127.0.0.1", port: browserPort, path, headers: { ...asking, ...headers } });
    sent
      .on("error", reject)
      .on("response", ({ statusCode, statusMessage }) => resolve(`${statusCode} ${statusMessage}`));
    sent.on("upgrade", ({ statusCode }, socket, first) => {
      if (first.length > 0) socket.unshift(first);
      socket.write(Buffer.concat([Buffer.from([0x81, 0x85, 0, 0, 0, 0]), Buffer.from("hello")]));
      let frame = Buffer.alloc(0);
      socket.on("data", (piece: Buffer) => {
        frame = Buffer.concat([frame, piece]);
        if (frame.length < 2 + (frame[1] ?? 0)) return;
        socket.destroy();
        resolve(`${statusCode} ${frame.subarray(2, 2 + (frame[1] ?? 0))}`);
      });
    });
    sent.end();
    return promise;
  }

  /** Node's own client. */
  async function echo(url: string, options: object): Promise<string> {
    const socket = new WebSocket(url, options as never);
    await once(socket, "open");
    const heard = once(socket, "message");
    socket.send("hello");
    const [{ data }] = await heard;
    const closed = once(socket, "close");
    socket.close();
    await closed;
    return data;
  }

  it("[NET-14] answer whoever has a key, with any method, path, query and body", async () => {
    expect(await (await byPath("/a/b%20c?d=1&d=2")).text()).toBe("GET /a/b%20c?d=1&d=2");
    expect(await (await byPath("/")).text()).toBe("GET /");
    expect((await byPath("/x", { method: "HEAD" })).headers.get("content-length")).toBe("7");
    expect(await (await byPath("/x", { method: "DELETE" })).text()).toBe("DELETE /x");
    const body = "x".repeat(300_000);
    const [posted, put] = await Promise.all([
      byPath("/p", { method: "POST", body }),
      byPath("/p", { method: "PUT", body: new Blob([body]).stream(), duplex: "half" } as RequestInit),
    ]);
    const digest = createHash("sha256").update(body).digest("hex");
    expect([await posted.text(), await put.text()]).toEqual([digest, digest]);
  });

  it("[NET-14] show events as they come", async () => {
    const response = await byPath("/events");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toBe("data: 0\n\n");
    await agent.put(`${at}/files/go-1`, "");
    expect((await reader?.read())?.value).toBe("data: 1\n\n");
    await agent.put(`${at}/files/go-2`, "");
    expect((await reader?.read())?.value).toBe("data: 2\n\n");
    expect((await reader?.read())?.done).toBe(true);
  });

  it("[NET-14] carry WebSockets, with a key", async () => {
    const url = `${server.base.replace("http", "ws")}${at}/ports/8000/socket`;
    expect(await echo(url, { headers: agent.headers })).toBe("hello");
    const refused = new WebSocket(url);
    await once(refused, "error");
  });

  it("[NET-14] agree on no compression of WebSockets, also before any value is hidden", async () => {
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "public" } });
    const offer = { "sec-websocket-extensions": "permessage-deflate" };
    expect(await upgraded(offer, "/extensions")).toBe("101 None");
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "private" } });
    const url = `${server.base.replace("http", "ws")}${at}/ports/8000/extensions`;
    const socket = new WebSocket(url, { headers: agent.headers } as never); // offers it by itself
    const [{ data }] = await once(socket, "message");
    expect(data).toBe("None");
    socket.close();
  });

  it("[NET-14] let nobody in without a key, with another namespace's, or with a cookie", async () => {
    const stranger = await server.as("agent", "other");
    expect((await fetch(`${server.base}${at}/ports/8000/`)).status).toBe(401);
    expect((await byPath("/", {}, stranger)).status).toBe(404);
    expect((await fetch(`${server.base}${at}/ports/8000/`, { headers: { cookie: "caisson_port=x" } })).status).toBe(
      401,
    );
  });

  it("[NET-14] are no document of the API's origin, set no cookie there, and learn no key", async () => {
    const { headers } = await byPath("/hostile");
    expect(headers.get("content-security-policy")).toMatch(/^sandbox;/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    for (const name of ["set-cookie", "service-worker-allowed", "access-control-allow-origin"])
      expect(headers.get(name)).toBeNull();
    const seen = await (await byPath("/headers", { headers: { cookie: "a=1", "x-forwarded-for": "1.2.3.4" } })).text();
    expect(seen).not.toContain(agent.headers["x-api-key"]);
    expect(seen.toLowerCase()).not.toMatch(/x-api-key|authorization|cookie|1\.2\.3\.4/);
    expect((await byPath("/away")).headers.get("location")).toBe(`${at}/ports/8000/here?x=1`);
  });

  it("[NET-14] [SEC-06] give away no value that is hidden in the sandbox", async () => {
    await server.fleet.use(
      { principal: { id: "t", name: "t", namespace: "default", role: "admin" }, requestId: "r" },
      id,
      async (sandbox) => sandbox.redactor.hide([Buffer.from(hidden)]),
    );
    expect(await (await byPath("/secret")).text()).toBe(`the ${"*".repeat(hidden.length)} is here`);
    expect((await byPath("/words")).statusText).not.toContain(hidden);
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "public" } });
    expect(await browse("/words")).toMatchObject({ status: 218, words: "unknown" });
    expect(await upgraded({}, "/words")).toBe("218 ");
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "private" } });
    const url = `${server.base.replace("http", "ws")}${at}/ports/8000/split`;
    const socket = new WebSocket(url, { headers: agent.headers } as never);
    const [{ data }] = await once(socket, "message");
    expect(data).toBe(`the ${"*".repeat(hidden.length)} is here`);
    socket.close();
  });

  it("[NET-14] say that nothing listens there, and never reach what the guest listens on", async () => {
    const answer = await fetch(`${server.base}${at}/ports/8001/`, { headers: agent.headers });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, "unavailable"]);
    for (const port of [53, 80, 443, 1080, 3128]) {
      const { status } = await fetch(`${server.base}${at}/ports/${port}/`, { headers: agent.headers });
      expect([port, status >= 400]).toEqual([port, true]);
    }
    expect((await fetch(`${server.base}${at}/ports/70000/`, { headers: agent.headers })).status).toBe(400);
  });

  it("[NET-14] are private to browsers until an operator says otherwise", async () => {
    expect((await browse("/")).status).toBe(403);
    expect((await agent.post(`${at}/port-links`, { port: 8000 })).status).toBe(409);
    expect((await agent.send("PUT", `${at}/ports/8000`, { json: { visibility: "public" } })).status).toBe(403);
    const { status, json } = await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "token" } });
    expect([status, json]).toEqual([
      200,
      { port: 8000, visibility: "token", url: `http://8000-${id}.localhost:${browserPort}/` },
    ]);
    expect((await browse("/")).status).toBe(403);
  });

  it("[NET-14] open to a browser with a link, which leaves a cookie for that port alone", async () => {
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "token" } });
    const { json } = await agent.post(`${at}/port-links`, { port: 8000, expires_in_seconds: 60 });
    const { search, hostname } = new URL(json.url);
    expect(hostname).toBe(`8000-${id}.localhost`);
    const entered = await browse(`/page${search}&x=1`);
    expect([entered.status, entered.headers.location]).toEqual([303, "/page?x=1"]);
    const cookie = entered.headers["set-cookie"]?.[0] ?? "";
    expect(cookie).toMatch(/HttpOnly; SameSite=Lax$/);
    expect(cookie).not.toMatch(/domain/i);
    const session = cookie.split(";")[0] ?? "";
    expect((await browse("/page?x=1", { headers: { cookie: session } })).text).toBe("GET /page?x=1");
    expect((await browse("/", { host: `8001-${id}.localhost`, headers: { cookie: session } })).status).toBe(403);
    expect((await browse("/", { headers: { cookie: `${session}x` } })).status).toBe(403);
    const own = await browse("/headers", { headers: { cookie: `theme=dark; ${session}` } });
    expect(own.text).toContain("Cookie: theme=dark");
    expect(own.text).not.toContain("caisson_port");
    const hostile = await browse("/hostile", { headers: { cookie: session } });
    expect(hostile.headers["set-cookie"]).toEqual(["session=stolen; Path=/"]);
    const upgrade = (origin: string) => upgraded({ cookie: session, origin });
    expect(await upgrade(`http://8000-${id}.localhost:${browserPort}`)).toBe("101 hello");
    expect(await upgrade("http://evil.example")).toBe("403 Forbidden");
  });

  it("[NET-14] close when the operator takes it back, and with the key that gave the link", async () => {
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "token" } });
    const short = await server.keyring.issue({ name: "short", namespace: "default", role: "agent" });
    const made = await agent.with({ "x-api-key": short.token }).post(`${at}/port-links`, { port: 8000 });
    const cookie = (await browse(`/${new URL(made.json.url).search}`)).headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    expect((await browse("/", { headers: { cookie } })).status).toBe(200);
    await server.keyring.revoke(short.key.id);
    expect((await browse("/", { headers: { cookie } })).status).toBe(403);
    const kept = (await agent.post(`${at}/port-links`, { port: 8000 })).json.url;
    const still = (await browse(`/${new URL(kept).search}`)).headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    expect((await browse("/", { headers: { cookie: still } })).status).toBe(200);
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "public" } });
    expect((await browse("/open")).text).toBe("GET /open");
    expect((await agent.get(`${at}/ports`)).json).toMatchObject([{ port: 8000, visibility: "public" }]);
    await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "private" } });
    expect((await browse("/open")).status).toBe(403);
    expect((await browse("/open", { headers: { cookie: still } })).status).toBe(403);
    expect((await agent.get(`${at}/ports`)).json).toEqual([]);
    const rows = await server.store.audit.search({ type: "port.shared", limit: 20 });
    expect(rows[0]?.detail).toEqual({ port: 8000, visibility: "private" });
  });

  it("[NET-14] are not found by names that are none of theirs", async () => {
    for (const host of ["localhost", "127.0.0.1", `8000-${id}.example.com`, `0-${id}.localhost`, "x.localhost"])
      expect([host, (await browse("/", { host })).status]).toEqual([host, 404]);
    expect((await browse("/", { host: "8000-nothing.localhost" })).status).toBe(403);
  });
});

it("[NET-14] a public port lets a client go that stops in the middle of its body", async () => {
  await using server = await openTestServer("container", { bodyIdleMs: 100 });
  server.browsers.server.listen(0, "127.0.0.1");
  await once(server.browsers.server, "listening");
  const { port } = server.browsers.server.address() as AddressInfo;
  const [agent, operator] = [await server.as("agent"), await server.as("operator")];
  const id = await agent.create();
  const at = `/api/v1/sandboxes/${id}`;
  const program =
    "import socket; s = socket.create_server(('127.0.0.1', 8000)); print('up', flush=True); c = s.accept()[0]; c.recv(1); input()";
  const { json } = await agent.post(`${at}/processes`, { command: ["python3", "-c", program], stdin: true });
  const output = () => agent.get(`${at}/processes/${json.id}/output`);
  await vi.waitFor(async () => expect((await output()).json.next_offset).toBeGreaterThan(0), { timeout: 30_000 });
  await operator.send("PUT", `${at}/ports/8000`, { json: { visibility: "public" } });
  const socket = connect(port, "127.0.0.1");
  socket.write(`POST / HTTP/1.1\r\nhost: 8000-${id}.localhost\r\ncontent-length: 100\r\n\r\n{`);
  expect(await text(socket).catch((error: Error) => error.message)).toMatch(/^(|read ECONNRESET)$/);
}, 60_000);
