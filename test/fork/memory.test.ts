import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const path = "/api/v1/sandboxes";

describe("[LIF-08] a copy of a running gVisor sandbox", () => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer("gvisor");
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const context = async (id: string): Promise<string> =>
    (await api.post(`${path}/${id}/contexts`, { language: "python" })).json.id;
  const run = async (id: string, name: string, code: string) => {
    const { json } = await api.post(`${path}/${id}/contexts/${name}/run`, { code });
    expect(json.error).toBeUndefined();
    return json.results[0]?.json;
  };

  it("has the variables of its contexts, and each goes its own way", async () => {
    const id = await api.create();
    const name = await context(id);
    await run(id, name, "x = {'a': 41}; held = open('/workspace/held', 'w'); held.write('one'); held.flush()");
    const { status, json } = await api.post(`${path}/${id}/fork`, { count: 2 });
    expect(status).toBe(201);
    expect(json).toMatchObject({ memory: true, why: null });
    const ids = [id, ...json.sandboxes.map((one: { id: string }) => one.id)];
    for (const [index, one] of ids.entries()) {
      await run(one, name, `x['a'] += ${index}; held.write('${index}'); held.flush()`);
      expect(await run(one, name, "[x['a'], open('/workspace/held').read()]")).toEqual([41 + index, `one${index}`]);
      const names =
        "[__import__('socket').gethostname(), *map(lambda f: open(f).read(), ['/etc/hostname', '/etc/hosts'])]";
      const own = one.slice(0, 12);
      const hosts = `127.0.0.1 localhost ${own}\n::1 localhost\n`;
      expect(await run(one, name, names)).toEqual([own, `${own}\n`, hosts]);
      const resolve = { command: "uname -n; getent hosts $(uname -n) | grep -c $(uname -n)" };
      expect((await api.post(`${path}/${one}/exec`, resolve)).json.stdout).toBe(`${own}\n1\n`);
    }
    for (const one of ids) expect((await api.delete(`${path}/${one}`)).status).toBe(204);
  });

  it("has files alone where memory was not asked for, and the result says so", async () => {
    const id = await api.create();
    const name = await context(id);
    await run(id, name, "open('/workspace/f', 'w').write('here')");
    const { status, json } = await api.post(`${path}/${id}/fork`, { memory: "never" });
    expect(status).toBe(201);
    expect(json).toMatchObject({ memory: false, why: "memory was not asked for", files: "copy" });
    const copy = json.sandboxes[0].id;
    expect((await api.get(`${path}/${copy}/files/f`)).bytes.toString()).toBe("here");
    expect((await api.get(`${path}/${copy}/contexts`)).json).toEqual([]);
    for (const one of [id, copy]) await api.delete(`${path}/${one}`);
  });

  it("takes what is sent to it on its own wire, and not on that of the original", async () => {
    const id = await api.create();
    const name = await context(id);
    const serve = `
import hashlib, http.server, threading
class Take(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        taken = hashlib.sha256(self.rfile.read(int(self.headers["content-length"]))).hexdigest().encode()
        self.send_response(200)
        self.send_header("content-length", str(len(taken)))
        self.end_headers()
        self.wfile.write(taken)
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8002), Take)
threading.Thread(target=server.serve_forever, daemon=True).start()
`;
    await run(id, name, serve);
    const send = async (one: string) => {
      const body = randomBytes(6 * 1024 ** 2);
      const options = { method: "POST", headers: api.headers, body };
      const taken = await fetch(`${server.base}${path}/${one}/ports/8002/`, options);
      expect(await taken.text()).toBe(createHash("sha256").update(body).digest("hex"));
    };
    await send(id);
    const { status, json } = await api.post(`${path}/${id}/fork`, { memory: "required", count: 2 });
    expect(status, JSON.stringify(json)).toBe(201);
    const all: string[] = [id, ...json.sandboxes.map((copy: { id: string }) => copy.id)];
    await Promise.all([...all, ...all].map(send));
    for (const one of all) expect((await api.delete(`${path}/${one}`)).status).toBe(204);
  });

  it("serves connections as the original does, where a program waits for them by epoll", async () => {
    const id = await api.create();
    const name = await context(id);
    const serve = `
import select, socket
server = socket.create_server(("127.0.0.1", 8000))
waiting = select.epoll()
waiting.register(server)
before = socket.create_connection(("127.0.0.1", 8000))
accepted, _ = server.accept()
waiting.register(accepted, select.EPOLLIN)
`;
    await run(id, name, serve);
    const node = "require('net').createServer((socket) => socket.end(String(process.pid))).listen(8001)";
    await api.post(`${path}/${id}/processes`, { command: `node -e "${node}"` });
    const call = "import socket; socket.create_connection(('127.0.0.1', 8001)).recv(9).decode()";
    await expect.poll(() => run(id, name, call).catch(() => ""), { timeout: 20_000 }).toMatch(/^\d+$/);
    const { status, json } = await api.post(`${path}/${id}/fork`, { memory: "required", count: 2 });
    expect(status).toBe(201);
    const all = [id, ...json.sandboxes.map((copy: { id: string }) => copy.id)];
    for (const one of all) {
      expect(await run(one, name, "before.send(b'x'); waiting.poll(10)[0][0] == accepted.fileno()")).toBe(true);
      const more = "accepted.recv(1); later = socket.create_connection(('127.0.0.1', 8000))";
      expect(await run(one, name, `${more}; waiting.poll(10)[0][0] == server.fileno()`)).toBe(true);
      expect(await run(one, name, call)).toMatch(/^\d+$/);
    }
    for (const one of all) await api.delete(`${path}/${one}`);
  });
});

describe("[LIF-08] a copy of a sandbox whose engine cannot save memory", () => {
  it("has the files, and the result says so", async () => {
    await using server = await openTestServer("container");
    const api = await server.as("agent");
    const id = await api.create({ labels: { of: "mine" }, env: { A: "b" } });
    await api.post(`${path}/${id}/exec`, { command: "mkdir -p a && echo one >a/f && chmod 600 a/f" });
    const { status, json } = await api.post(`${path}/${id}/fork`, { count: 2 });
    expect(status).toBe(201);
    expect(json).toMatchObject({ memory: false, why: "the engine container cannot save memory", files: "overlay" });
    for (const copy of json.sandboxes) {
      expect(copy).toMatchObject({ status: "running", labels: { of: "mine" }, env_names: ["A"] });
      const command = "cat a/f; stat -c %a a/f; echo $A; echo more >>a/f";
      expect((await api.post(`${path}/${copy.id}/exec`, { command })).json.stdout).toBe("one\n600\nb\n");
    }
    expect((await api.post(`${path}/${id}/exec`, { command: "cat a/f" })).json.stdout).toBe("one\n");
    expect((await api.post(`${path}/${id}/fork`, { memory: "required" })).status).toBe(422);
    expect((await api.post(`${path}/${id}/fork`, { count: 17 }, { bad: true })).status).toBe(400);
    expect((await api.get("/api/v1/snapshots")).json).toEqual([]);
  });
});
