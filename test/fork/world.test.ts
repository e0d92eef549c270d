import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { dnsHost, type TestDns, type TestHost, tcpHost } from "../egress/hosts.ts";
import { names, tcp } from "../egress/rules.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const path = "/api/v1/sandboxes";

/** Answers in two parts, the second when it is told to; says what becomes of its connection. */
const answerer = `
import os, select, socket
server = socket.create_server(("127.0.0.1", 8000))
print("ready", flush=True)
far, _ = server.accept()
far.recv(65536)
far.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 10\\r\\n\\r\\nfirst")
print("begun", flush=True)
while not os.path.exists("go"):
    if select.select([far], [], [], 0.05)[0]:
        try: far.recv(1)
        except ConnectionResetError: pass
        print("reset", flush=True)
        raise SystemExit
far.sendall(b"later")
print("sent", flush=True)
`;

/** Through the proxy to a host that says everything again. */
const connect = (port: number) => `
import socket
world = socket.create_connection(("127.64.0.1", 3128))
world.sendall(b"CONNECT allowed.example:${port} HTTP/1.1\\r\\nHost: allowed.example:${port}\\r\\n\\r\\n")
world.recv(65536).split(b"\\r\\n")[0].decode()
`;

const speak = (word: string) => `
try:
    world.sendall(b"${word}")
    said = world.recv(100).decode()
except OSError as error:
    said = type(error).__name__
said
`;

describe("[LIF-08] connections of a sandbox that is copied with its memory", () => {
  let server: TestServer;
  let dns: TestDns;
  let echo: TestHost;
  let api: Api;
  beforeAll(async () => {
    dns = await dnsHost(names);
    echo = await tcpHost();
    server = await openTestServer("gvisor", { network: { dnsServers: [dns.address] } });
    api = await server.as("operator");
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    for (const host of [dns, echo]) await host?.[Symbol.asyncDispose]();
  });

  const evaluate = async (id: string, context: string, code: string) => {
    const { json } = await api.post(`${path}/${id}/contexts/${context}/run`, { code });
    expect(json.error).toBeUndefined();
    return json.results[0]?.json;
  };
  const fork = async (id: string): Promise<string> => {
    const { json } = await api.post(`${path}/${id}/fork`, { memory: "required" });
    expect(json).toMatchObject({ memory: true });
    return json.sandboxes[0].id;
  };
  const saysSoon = (id: string, process: string, word: string) =>
    vi.waitFor(
      async () => expect((await api.get(`${path}/${id}/processes/${process}/output`)).json.data).toContain(word),
      { timeout: 60_000, interval: 50 },
    );

  it("to the world go on in the original and are reset in the copy, which can make new ones", async () => {
    const { host, port, protocol, ranges } = tcp("allowed.example", echo.port);
    const id = await api.create({ network: { allow: [{ host, port, protocol, ranges: [...(ranges ?? [])] }] } });
    const context = (await api.post(`${path}/${id}/contexts`, { language: "python" })).json.id;
    expect(await evaluate(id, context, connect(echo.port))).toContain(" 200 ");
    expect(await evaluate(id, context, speak("before"))).toBe("before");
    const copy = await fork(id);
    expect(await evaluate(copy, context, speak("in the copy"))).toMatch(/^(|ConnectionResetError|BrokenPipeError)$/);
    expect(await evaluate(id, context, speak("after"))).toBe("after");
    expect(await evaluate(copy, context, connect(echo.port))).toContain(" 200 ");
    expect(await evaluate(copy, context, speak("anew"))).toBe("anew");
    for (const one of [id, copy]) expect((await api.delete(`${path}/${one}`)).status).toBe(204);
  });

  it("from the world to its ports go on in the original and are reset in the copy", async () => {
    const id = await api.create();
    await api.put(`${path}/${id}/files/answerer.py`, answerer);
    const started = await api.post(`${path}/${id}/processes`, { command: ["python3", "answerer.py"] });
    const process = started.json.id as string;
    await saysSoon(id, process, "ready");
    const asked = fetch(`${server.base}${path}/${id}/ports/8000/`, { headers: api.headers });
    await saysSoon(id, process, "begun");
    const copy = await fork(id);
    await saysSoon(copy, process, "reset");
    await api.put(`${path}/${id}/files/go`, "");
    expect(await (await asked).text()).toBe("firstlater");
    await saysSoon(id, process, "sent");
    for (const one of [id, copy]) expect((await api.delete(`${path}/${one}`)).status).toBe(204);
  });

  it("a program that knows of generations sees that it goes on in another place, and seeds anew", async () => {
    const id = await api.create();
    const program = `
import random, sys
def generation():
    try: return open("/run/caisson/generation").read()
    except FileNotFoundError: return ""
seen = generation()
chance = random.Random(7)
print("ready", flush=True)
for _ in sys.stdin:
    if generation() != seen:
        seen = generation()
        chance.seed(seen)
    print(seen.split()[1][:12] if seen else "none", chance.random(), flush=True)
`;
    await api.put(`${path}/${id}/files/program.py`, program);
    const started = await api.post(`${path}/${id}/processes`, { command: ["python3", "program.py"], stdin: true });
    const process = started.json.id as string;
    await saysSoon(id, process, "ready");
    const copies = [await fork(id), await fork(id)];
    const drawn = new Set<string>();
    for (const one of [id, ...copies]) {
      await api.post(`${path}/${one}/processes/${process}/stdin`, { data: "draw\n" });
      await saysSoon(one, process, `${one.slice(0, 12)} 0.`);
      drawn.add((await api.get(`${path}/${one}/processes/${process}/output`)).json.data.trim().split(" ").at(-1));
    }
    expect(drawn.size).toBe(3);
    for (const one of [id, ...copies]) expect((await api.delete(`${path}/${one}`)).status).toBe(204);
  });
});
