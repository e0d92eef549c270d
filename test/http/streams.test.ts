import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { allMessages, type Message, messages } from "./messages.ts";
import { openTestServer, type TestServer } from "./server.ts";

describe.each(engines)("live streams (%s)", (engine) => {
  let server: TestServer;
  let api: Api;
  let id: string;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
    id = await api.create();
    at = `/api/v1/sandboxes/${id}`;
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const text = (found: Message[], type: string) =>
    found
      .filter((one) => one.type === type)
      .map((one) => one.data)
      .join("");

  it.each([
    ["text/event-stream", { stream: true }, {}],
    ["text/event-stream", {}, { accept: "text/event-stream" }],
    ["application/x-ndjson", {}, { accept: "application/x-ndjson" }],
  ])("[API-04] of exec come as %s, and end with the result", async (type, more, headers) => {
    const command = "echo one; echo two >&2; printf 'grü'; exit 3";
    const response = await api.open("POST", `${at}/exec`, { json: { command, ...more }, headers });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
    const found = await allMessages(response);
    expect([text(found, "stdout"), text(found, "stderr")]).toEqual(["one\ngrü", "two\n"]);
    expect(found.at(-1)).toMatchObject({ type: "result", exit_code: 3, files_changed: [] });
  });

  it("[API-04] of exec give any bytes in base64", async () => {
    const json = { command: "printf '\\377\\000a'", stream: true, encoding: "base64" };
    const found = await allMessages(await api.open("POST", `${at}/exec`, { json }));
    expect(Buffer.from(text(found, "stdout"), "base64")).toEqual(Buffer.from([255, 0, 97]));
  });

  it("answer with a problem when nothing could start", async () => {
    const found = await api.post("/api/v1/sandboxes/nope/exec", { command: "true", stream: true });
    expect([found.status, found.json.code]).toEqual([404, "not_found"]);
    const late = await api.post(`${at}/exec`, { command: "true", stream: true, timeout_seconds: 1e6 }, { bad: true });
    expect([late.status, late.json.code]).toEqual([400, "invalid"]);
  });

  it("[API-04] that a client leaves end their run", async () => {
    const gone = new AbortController();
    const json = { command: "echo $$ > pid; echo up; sleep 1000", stream: true };
    const response = await api.open("POST", `${at}/exec`, { json, signal: gone.signal });
    for await (const message of messages(response)) if (message.data === "up\n") break;
    gone.abort();
    const dead = "for i in $(seq 600); do kill -0 $(cat pid) 2>/dev/null || exit 0; sleep 0.05; done; exit 1";
    expect((await api.post(`${at}/exec`, { command: dead })).json.exit_code).toBe(0);
  });

  it("hold a program up that writes more than its client reads", async () => {
    const json = { command: "yes 0123456789 | head -c 32000000; touch done", stream: true };
    const gone = new AbortController();
    const response = await api.open("POST", `${at}/exec`, { json, signal: gone.signal });
    const reader = messages(response);
    await reader.next();
    const list = await api.get(`${at}/files`);
    expect(list.json.map((file: { name: string }) => file.name)).not.toContain("done");
    let bytes = 0;
    let last: Message | undefined;
    for await (const message of reader) {
      bytes += message.type === "stdout" ? message.data.length : 0;
      last = message;
    }
    expect(last).toMatchObject({ type: "result", exit_code: 0 });
    expect(bytes).toBeGreaterThan(31_000_000);
    expect(bytes).toBeLessThanOrEqual(32_000_000);
  });

  it("of background processes go on from an offset", async () => {
    const started = await api.post(`${at}/processes`, { command: "read line; echo got $line; exec cat", stdin: true });
    expect(started.status).toBe(201);
    const one = `${at}/processes/${started.json.id}`;
    expect((await api.post(`${one}/stdin`, { data: "it\n" })).json).toEqual({ delivered: true });
    const response = await api.open("GET", `${one}/output`, { headers: { accept: "application/x-ndjson" } });
    let seen = "";
    for await (const message of messages(response)) {
      if (message.type === "output") seen += message.data;
      if (seen === "got it\n") await api.post(`${one}/stdin`, { data: "more", close: true });
      if (message.type === "exit") expect(message).toMatchObject({ state: "exited", result: { exit_code: 0 } });
    }
    expect(seen).toBe("got it\nmore");
    const piece = await api.get(`${one}/output?offset=4&max_bytes=2`);
    expect(piece.json).toEqual({ offset: 4, next_offset: 6, data: "it", ended: false });
    expect((await api.get(`${one}/output?offset=7`)).json).toMatchObject({ data: "more", ended: true });
    expect((await api.get(`${at}/processes`)).json.map((info: Message) => info.id)).toContain(started.json.id);
  });

  it("processes are signalled, waited for, and killed", async () => {
    const start = async () => (await api.post(`${at}/processes`, { command: ["sleep", "1000"] })).json.id as string;
    const one = `${at}/processes/${await start()}`;
    expect((await api.post(`${one}/wait`, { timeout_seconds: 0 })).json.state).toBe("running");
    expect((await api.post(`${one}/signal`, { signal: "SIGTERM" })).json).toEqual({ delivered: true });
    expect((await api.post(`${one}/wait`)).json).toMatchObject({ state: "exited", result: { signal: "SIGTERM" } });
    const other = `${at}/processes/${await start()}`;
    expect((await api.delete(other)).status).toBe(204);
    expect((await api.get(other)).json.state).toBe("exited");
    expect((await api.get(`${at}/processes/pnope`)).status).toBe(404);
  });

  it("contexts keep their variables, stream, and are interrupted, restarted and ended", async () => {
    const created = await api.post(`${at}/contexts`, { language: "python" });
    expect(created.status).toBe(201);
    const one = `${at}/contexts/${created.json.id}`;
    expect((await api.post(`${one}/run`, { code: "x = 6" })).json).toMatchObject({ stdout: "", results: [] });
    expect((await api.post(`${one}/run`, { code: "x * 7" })).json.results).toMatchObject([
      { kind: "value", text: "42" },
    ]);
    const json = { code: "print('hi'); x", stream: true };
    const found = await allMessages(await api.open("POST", `${one}/run`, { json }));
    expect(text(found, "stdout")).toBe("hi\n");
    expect(found.at(-1)).toMatchObject({ type: "result", results: [{ text: "6" }] });
    expect((await api.post(`${one}/interrupt`)).json).toMatchObject({ id: created.json.id, ended: null });
    expect((await api.post(`${one}/restart`)).status).toBe(200);
    expect((await api.post(`${one}/run`, { code: "x" })).json.error.name).toBe("NameError");
    expect((await api.get(`${at}/contexts`)).json).toHaveLength(1);
    expect((await api.post(`${at}/contexts`, { language: "node", cwd: "/nowhere" })).status).toBe(404);
    expect((await api.delete(one)).status).toBe(204);
    expect((await api.post(`${one}/run`, { code: "1" })).status).toBe(404);
  });

  it("[FIL-03] of a watch tell what happens to files", async () => {
    const gone = new AbortController();
    const response = await api.open("GET", `${at}/watch`, { signal: gone.signal });
    for await (const message of messages(response)) {
      if (message.type === "watching") await api.put(`${at}/files/watched`, "x");
      if (message.type === "created" && message.path === "watched") break;
    }
    gone.abort();
  });

  it("[API-04] of events are those of the caller's namespace, from an id on", async () => {
    const response = await api.open("GET", "/api/v1/events?types=execution.completed,sandbox.created&after=0");
    const other = await (await server.as("agent", "elsewhere")).open("GET", "/api/v1/events?after=0");
    await api.post(`${at}/exec`, { command: "true" });
    const types: string[] = [];
    for await (const message of messages(response)) {
      expect(message).toMatchObject({ namespace: "default", sandbox_id: id, at: expect.any(String) });
      types.push(message.type);
      if (message.type === "execution.completed") break;
    }
    expect(types[0]).toBe("sandbox.created");
    await server.journal.record({ type: "disk.low", by: "system", namespace: "elsewhere", data: {} });
    for await (const message of messages(other)) {
      expect(message.namespace).toBe("elsewhere");
      if (message.type === "disk.low") break;
    }
    expect((await api.get("/api/v1/events?types=nope")).status).toBe(400);
    expect((await api.get("/api/v1/events?all_namespaces=true")).status).toBe(403);
  });

  it("[API-04] terminals are typed into over a WebSocket, and resized", async () => {
    const socket = new WebSocket(`${server.base.replace("http", "ws")}${at}/terminal?rows=30&columns=100`, {
      headers: api.headers,
    });
    let shown = "";
    let exit: Message | undefined;
    socket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) exit = JSON.parse(data.toString());
      else shown += data.toString();
      if (shown.includes("size 30 100") && !shown.includes("resized")) {
        shown += "resized";
        socket.send(JSON.stringify({ type: "resize", rows: 50, columns: 120 }));
        socket.send(Buffer.from("stty size | sed 's/^/now /'; exit 7\r"));
      }
    });
    await once(socket, "open");
    socket.send(Buffer.from("stty size | sed 's/^/size /'\r"));
    await once(socket, "close");
    expect(shown).toContain("now 50 120");
    expect(exit).toMatchObject({ type: "exit", exit_code: 7 });
  });

  it("[API-04] terminals open with a ticket, once, and not without", async () => {
    const open = async (query: string, headers = {}) => {
      const socket = new WebSocket(`${server.base.replace("http", "ws")}${at}/terminal${query}`, { headers });
      try {
        await once(socket, "open");
        socket.send(Buffer.from("exit\r"));
        await once(socket, "close");
        return "opened";
      } catch (error) {
        return (error as Error).message;
      }
    };
    const { ticket } = (await api.post(`${at}/terminal/ticket`)).json;
    expect(await open("")).toContain("401");
    expect(await open(`?ticket=${ticket}`, { origin: "http://evil.example" })).toContain("403");
    expect(await open(`?ticket=${ticket}`)).toBe("opened");
    expect(await open(`?ticket=${ticket}`)).toContain("401");
    expect((await api.get(`${at}/terminal`)).status).toBe(426);
  });

  it("[IDN-01] end when their key is revoked", async () => {
    const { key, token } = await server.keyring.issue({ name: "short", namespace: "default", role: "agent" });
    const holder = api.with({ "x-api-key": token });
    const events = await holder.open("GET", "/api/v1/events");
    const run = await holder.open("POST", `${at}/exec`, { json: { command: "sleep 1000", stream: true } });
    const ended = Promise.allSettled([allMessages(events), allMessages(run)]);
    const admin = await server.as("admin");
    expect((await admin.delete(`/api/v1/keys/${key.id}`)).status).toBe(204);
    expect((await ended).map((one) => one.status)).toEqual(["rejected", "rejected"]);
  });

  it("cost a key one of its share each", async () => {
    await using small = await openTestServer(engine, { streamsPerKey: 1 });
    const key = await small.as("viewer");
    const gone = new AbortController();
    const first = await key.open("GET", "/api/v1/events", { signal: gone.signal });
    expect(first.status).toBe(200);
    const second = await key.get("/api/v1/events");
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "1"]);
    gone.abort();
    await expect
      .poll(
        async () => {
          const again = await key.open("GET", "/api/v1/events", { signal: AbortSignal.timeout(30_000) });
          await again.body?.cancel();
          return again.status;
        },
        { timeout: 30_000 },
      )
      .toBe(200);
  });
});
