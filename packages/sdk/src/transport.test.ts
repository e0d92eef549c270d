import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, ConnectionError, TimeoutError } from "./error.ts";
import { type ClientOptions, Transport } from "./transport.ts";

/** A status, and seconds for Retry-After; `cut` ends the connection in place of an answer, `silent` never answers. */
type Answer = number | { status: number; retryAfter?: number; header?: string; location?: string } | "cut" | "silent";

let server: Server;
let answers: Answer[];
let got: { method: string; path: string; key: string | undefined; body: string }[];

beforeEach(async () => {
  answers = [];
  got = [];
  server = createServer(async (request, response) => {
    const body = (await request.setEncoding("utf8").toArray()).join("");
    got.push({ method: request.method ?? "", path: request.url ?? "", key: keyOf(request), body });
    const answer = answers.shift() ?? 200;
    if (answer === "silent") return;
    if (answer === "cut") return void request.socket.destroy();
    const { status, retryAfter, header, location } = typeof answer === "number" ? { status: answer } : answer;
    if (location !== undefined) return void response.writeHead(status, { location }).end();
    const problem = { status, code: "unavailable", detail: `answered ${status}`, retry_after: retryAfter };
    const type = header === undefined ? {} : { "retry-after": header };
    response.writeHead(status, { ...type, "content-type": "application/json" });
    response.end(header === undefined ? JSON.stringify(status < 400 ? { fine: true } : problem) : "a proxy's page");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

const keyOf = ({ headers }: IncomingMessage) => headers["idempotency-key"]?.toString();
const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const client = (options: Partial<ClientOptions> = {}) => new Transport({ url: url(), ...options });

/** How a call ends: its status, or the error that it rejects with. */
const ended = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 200,
    (error: unknown) => (error instanceof ApiError ? error.status : error),
  );

/** Runs the call with waits that pass at once, and gives those that it asked for. */
async function waitsOf(call: () => Promise<unknown>): Promise<{ waitsMs: number[]; end: unknown }> {
  const waitsMs: number[] = [];
  const real = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (done: () => void, ms = 0) => {
    // Without a time of its own, a call starts no other timers than its waits. Those of fetch are left alone.
    const isWait = new Error().stack?.split("\n")[2]?.includes("/transport.ts") === true;
    if (isWait) waitsMs.push(ms);
    return real(done, isWait ? 0 : ms);
  });
  const end = await ended(call());
  vi.unstubAllGlobals();
  return { waitsMs, end };
}

const quick = { timeoutMs: null } as const;
const named = { ...quick, idempotencyKey: "key-1" };
const exec = "/api/v1/sandboxes/s1/exec";

describe("a call that is refused with 503", () => {
  it.each(["GET", "HEAD", "DELETE"])("[API-05] is repeated where it is %s", async (method) => {
    answers = [503];
    expect((await waitsOf(() => client().send(method, "/path", quick))).end).toBe(200);
    expect(got.map(({ method }) => method)).toEqual([method, method]);
  });

  it.each(["POST", "PUT", "PATCH"])("[API-05] is not where it is %s: it may have had an effect", async (method) => {
    answers = [503];
    const { end, waitsMs } = await waitsOf(() => client().send(method, exec, { ...quick, json: { command: "ls" } }));
    expect([end, waitsMs, got.length]).toEqual([503, [], 1]);
  });

  it("is repeated under its idempotency key, with the same key and body", async () => {
    answers = [503];
    expect((await waitsOf(() => client().json("POST", "/path", { ...named, json: { a: 1 } }))).end).toBe(200);
    expect(got).toHaveLength(2);
    for (const { key, body } of got) expect({ key, body }).toEqual({ key: "key-1", body: '{"a":1}' });
  });

  it.each([400, 401, 404, 409, 500, 502, 504])("is not with %i, which another try would not change", async (status) => {
    answers = [status];
    const { end } = await waitsOf(() => client().send("GET", "/path", quick));
    expect([end, got.length]).toEqual([status, 1]);
  });
});

describe("a call that is refused with 429", () => {
  it("[API-05] had no effect: any is repeated, after as long as the daemon says", async () => {
    answers = [
      { status: 429, retryAfter: 3 },
      { status: 429, retryAfter: 0.5 },
    ];
    const { end, waitsMs } = await waitsOf(() => client().send("POST", exec, { ...quick, json: {} }));
    expect([end, got.length, waitsMs]).toEqual([200, 3, [3_000, 500]]);
  });

  it("waits as long as the header says that something before the daemon sends", async () => {
    answers = [{ status: 429, header: "2" }];
    const { end, waitsMs } = await waitsOf(() => client().send("POST", exec, quick));
    expect([end, waitsMs]).toEqual([200, [2_000]]);
  });

  it("takes its own waits where a header says a date, or nonsense", async () => {
    answers = [
      { status: 429, header: "Wed, 21 Oct 2026 07:28:00 GMT" },
      { status: 429, header: "-1" },
    ];
    expect((await waitsOf(() => client().send("GET", "/path", quick))).waitsMs).toEqual([100, 400]);
  });

  it("waits no longer than 10 s, and longer with each try where none is said", async () => {
    answers = [{ status: 429, retryAfter: 3_600 }];
    expect((await waitsOf(() => client().send("GET", "/path", quick))).waitsMs).toEqual([10_000]);
    answers = [429, 429, 429, 429];
    const { waitsMs } = await waitsOf(() => client({ retries: 5 }).send("GET", "/path", quick));
    expect(waitsMs).toEqual([100, 400, 1_600, 6_400]);
  });
});

describe("a call whose connection is lost", () => {
  it("[API-05] is not repeated by itself: nobody knows whether it had an effect", async () => {
    answers = ["cut"];
    const { end } = await waitsOf(() => client().send("POST", exec, { ...quick, json: { command: "ls" } }));
    expect(end).toBeInstanceOf(ConnectionError);
    expect(got).toHaveLength(1);
  });

  it("[API-05] is repeated under an idempotency key, and where it reads or deletes", async () => {
    for (const [method, call] of [["POST", named] as const, ["GET", quick] as const, ["DELETE", quick] as const]) {
      answers = ["cut", "cut"];
      got.length = 0;
      expect((await waitsOf(() => client().send(method, "/path", call))).end, method).toBe(200);
      expect(got.map(({ key }) => key)).toEqual(Array(3).fill(method === "POST" ? "key-1" : undefined));
    }
  });

  it("ends with what went wrong where nothing listens", async () => {
    const nobody = createServer().listen(0, "127.0.0.1");
    await once(nobody, "listening");
    const { port } = nobody.address() as AddressInfo;
    await new Promise((closed) => nobody.close(closed));
    const { end, waitsMs } = await waitsOf(() => client({ url: `http://127.0.0.1:${port}` }).send("GET", "/", quick));
    expect(String(end)).toBe(`ConnectionError: cannot reach http://127.0.0.1:${port}`);
    expect(waitsMs).toEqual([100, 400]);
  });

  it("is not repeated with a body that is read once", async () => {
    answers = ["cut", 429];
    const body = () => new Blob(["text"]).stream();
    expect((await waitsOf(() => client().send("PUT", "/path", { ...named, body: body() }))).end).toBeInstanceOf(
      ConnectionError,
    );
    expect((await waitsOf(() => client().send("PUT", "/path", { ...named, body: body() }))).end).toBe(429);
    expect(got).toHaveLength(2);
  });
});

it.each(["GET", "POST"])("%s takes its key nowhere that an answer sends it", async (method) => {
  answers = [{ status: 307, location: "/elsewhere" }];
  const end = await ended(client({ key: "secret", retries: 0 }).send(method, "/path"));
  expect(end).toBeInstanceOf(ConnectionError);
  expect(got.map(({ path }) => path)).toEqual(["/path"]);
});

describe("repetitions", () => {
  it.each([
    [undefined, 3],
    [0, 1],
    [1, 2],
    [4, 5],
  ])("with %s as their limit end after %i calls, with the last refusal", async (retries, calls) => {
    answers = Array(9).fill(503);
    const options = retries === undefined ? {} : { retries };
    expect((await waitsOf(() => client(options).send("GET", "/path", quick))).end).toBe(503);
    expect(got).toHaveLength(calls);
  });

  it("are none where the time of the call has passed without an answer", async () => {
    answers = ["silent"];
    const end = await ended(client({ timeoutMs: 50 }).send("GET", "/path"));
    expect(end).toBeInstanceOf(TimeoutError);
    expect(got).toHaveLength(1);
  });

  it("end where their caller no longer waits, with the caller's reason", async () => {
    answers = [{ status: 429, retryAfter: 10 }];
    const caller = new AbortController();
    const reason = new Error("enough");
    const refused = vi.fn(globalThis.fetch);
    const call = ended(client({ fetch: refused }).send("GET", "/path", { ...quick, signal: caller.signal }));
    await vi.waitUntil(() => refused.mock.settledResults[0]?.type === "fulfilled");
    caller.abort(reason);
    expect(await call).toBe(reason);
    expect(got).toHaveLength(1);
  });

  it("end where their caller had gone before they began to wait", async () => {
    const caller = new AbortController();
    const reason = new Error("gone");
    const gone: typeof fetch = async () => {
      // As when the answer has come, and its caller leaves before it is read.
      queueMicrotask(() => caller.abort(reason));
      return new Response("", { status: 503, headers: { "retry-after": "10" } });
    };
    expect(await ended(client({ fetch: gone }).send("GET", "/path", { ...quick, signal: caller.signal }))).toBe(reason);
  });

  it("leave nothing on their caller's signal", async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    answers = [503, 503];
    const unsignalled: typeof fetch = (input, { signal: _, ...init } = {}) => fetch(input, init);
    await waitsOf(() => client({ fetch: unsignalled }).send("GET", "/path", { ...quick, signal }));
    expect(added.mock.calls.length).toBe(2);
    expect(removed.mock.calls.length).toBe(2);
  });
});
