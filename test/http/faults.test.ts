import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpLimits } from "../../packages/server/src/http/limits.ts";
import { journalLimits } from "../../packages/server/src/journal/limits.ts";
import { engines, soak } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const root = "/api/v1/sandboxes";
const MiB = 1024 ** 2;
const followers = soak ? 10_000 : 1_000;

describe("the REST API, when something is wrong", () => {
  let server: TestServer;
  let api: Api;
  let at: string;
  const sockets: Socket[] = [];
  beforeAll(async () => {
    server = await openTestServer(engine, { streamsPerKey: 10_000 });
    api = await server.as("agent");
    at = `${root}/${await api.create()}`;
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await server[Symbol.asyncDispose]();
  });

  /** A connection that says this and then nothing, and never reads. */
  async function say(words: string): Promise<Socket> {
    const socket = connect({ port: Number(new URL(server.base).port), host: "127.0.0.1" });
    sockets.push(socket);
    socket.on("error", () => undefined).pause();
    await once(socket, "connect");
    socket.write(words);
    return socket;
  }

  async function checkWorks(): Promise<void> {
    expect((await api.get("/healthz")).status).toBe(200);
    expect((await api.post(`${at}/exec`, { command: "echo works" })).json).toMatchObject({ stdout: "works\n" });
  }

  it("says that its store is locked, still reads, and goes on when the lock is gone", async () => {
    const other = new DatabaseSync(`${server.home}/daemon/caisson.db`);
    other.exec("BEGIN IMMEDIATE");
    const refused = api.post(`${at}/exec`, { command: "true" });
    const [ran, ready, listed] = await Promise.all([refused, server.anonymous.get("/readyz"), api.get(root)]);
    expect(listed.status).toBe(200);
    expect([ran.status, ran.json.code]).toEqual([503, "unavailable"]);
    expect([ran.json.detail, ran.json.hint]).toEqual([expect.stringContaining("lock"), expect.any(String)]);
    expect([ready.status, ready.json.detail]).toEqual([503, "not ready: store"]);
    expect((await api.get("/healthz")).status).toBe(200);
    other.exec("ROLLBACK");
    other.close();
    while ((await server.anonymous.get("/readyz")).status !== 200) await sleep(20);
    await checkWorks();
    expect((await server.store.audit.verify()).problems).toEqual([]);
  });

  it("is not held up by clients that never finish their headers, or their body", async () => {
    const { host } = new URL(server.base);
    for (let n = 0; n < 300; n++) {
      await say(`GET ${root} HTTP/1.1\r\nhost: ${host}\r\nx-slow`);
      await say(
        `POST ${at}/exec HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${api.headers["x-api-key"]}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"comm`,
      );
    }
    await checkWorks();
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  it("lets a client go whose headers do not come in time, and says so", async () => {
    await using hasty = await openTestServer(engine, { headersTimeoutMs: 200 });
    const socket = connect({ port: Number(new URL(hasty.base).port), host: "127.0.0.1" });
    socket.write("GET /healthz HTTP/1.1\r\nx-slow");
    expect(await text(socket)).toMatch(/^HTTP\/1.1 408 .*application\/problem\+json.*in time/s);
  });

  it("refuses headers that are too long, too many or not HTTP with a problem, and lives on", async () => {
    const { host } = new URL(server.base);
    const lines = [
      `x-long: ${"a".repeat(20_000)}`,
      Array.from({ length: 3_000 }, (_, n) => `x-${n}: 1`).join("\r\n"),
      "x-bad: a\0b",
      "content-length: 1\r\ncontent-length: 2",
      "transfer-encoding: chunked\r\ncontent-length: 4",
      "host: evil.example",
    ];
    for (const line of lines) {
      const socket = await say(`GET ${root} HTTP/1.1\r\nhost: ${host}\r\n${line}\r\nconnection: close\r\n\r\n`);
      const answer = await text(socket);
      expect(answer, line.slice(0, 40)).toMatch(/^HTTP\/1.1 4\d\d .*application\/problem\+json/s);
    }
    const socket = await say(`GET /${"a".repeat(30_000)} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 431 .*application\/problem\+json/s);
    await checkWorks();
  });

  it("lives on beside a client that never reads what its program says", async () => {
    const body = JSON.stringify({ command: "yes | head -c 200000000", stream: true });
    const before = process.memoryUsage().rss;
    for (let n = 0; n < 4; n++)
      await say(
        `POST ${at}/exec HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${api.headers["x-api-key"]}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    for (let n = 0; n < 10; n++) await checkWorks();
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MiB);
    for (const socket of sockets.splice(0)) socket.destroy();
    while (server.fleet.queue().running > 0) await sleep(20);
    await checkWorks();
  });
});

describe("the REST API, followed by many who do not read", () => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer(engine, { streamsPerKey: 20_000 });
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const publish = (text: string) =>
    server.journal.record({
      type: "webhook.failed",
      by: "system",
      namespace: "default",
      data: { webhook_id: "wh", type: "disk.low", reason: text },
    });

  /** A connection that follows events and reads no further than the answer's head, which it gives. */
  async function follow(): Promise<{ socket: Socket; head: string }> {
    const socket = connect({ port: Number(new URL(server.base).port), host: "127.0.0.1" }).on("error", () => undefined);
    await once(socket, "connect");
    const key = api.headers["x-api-key"];
    socket.write(`GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\n\r\n`);
    const [head] = await once(socket, "data");
    socket.pause();
    if (!String(head).startsWith("HTTP/1.1 200")) socket.destroy();
    return { socket, head: String(head) };
  }

  it(`bears ${followers} of them, and refuses those past its limit with a hint`, async () => {
    const before = process.memoryUsage().rss;
    const all: Awaited<ReturnType<typeof follow>>[] = [];
    while (all.length < followers) all.push(...(await Promise.all(Array.from({ length: 50 }, follow))));
    for (let n = 0; n < 100; n++) await publish("x".repeat(200));
    const id = await api.create();
    expect((await api.post(`${root}/${id}/exec`, { command: "echo works" })).json.stdout).toBe("works\n");
    const accepted = all.filter(({ head }) => head.startsWith("HTTP/1.1 200"));
    const perFollower = Math.round((process.memoryUsage().rss - before) / accepted.length / 1024);
    console.log(`${accepted.length} followers that do not read cost ${perFollower} KiB each, with both ends`);
    expect(accepted.length).toBe(Math.min(followers, httpLimits.streams));
    const refused = all.filter((one) => !accepted.includes(one));
    for (const { head } of refused) expect(head).toMatch(/^HTTP\/1.1 429.*"hint"/s);
    for (const { socket } of all) socket.destroy();
    await api.delete(`${root}/${id}`);
    expect((await api.get("/readyz")).status).toBe(200);
  }, 300_000);

  it("[EVT-01] holds nothing back for them, and tells those who read again what they have missed", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, follow));
    const before = process.memoryUsage().rss;
    const text = "x".repeat(8_000);
    // More than the kernel takes on its way, beyond the newest events.
    for (let n = 0; n < journalLimits.recent + 3_000; n++) {
      await publish(text);
      if (n % 100 === 0) await nextTurn();
    }
    expect((await api.get("/healthz")).status).toBe(200);
    expect(process.memoryUsage().rss - before).toBeLessThan(500 * MiB);
    const { socket: slow } = all[0] as { socket: Socket };
    let dropped: string | undefined;
    let tail = "";
    for await (const piece of slow) {
      tail = (tail + String(piece)).slice(-200_000);
      dropped = /"events.lag".*"dropped":(\d+)/.exec(tail)?.[1];
      if (dropped !== undefined) break;
    }
    expect(Number(dropped)).toBeGreaterThan(0);
    for (const { socket } of all) socket.destroy();
  });
});
