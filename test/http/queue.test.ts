import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { Idempotency } from "../../packages/server/src/http/idempotency.ts";
import type { Route } from "../../packages/server/src/http/route.ts";
import { queueLimits } from "../../packages/server/src/sandboxes/fleet/limits.ts";
import type { Api } from "./api.ts";
import { messages } from "./messages.ts";
import { openTestServer, type TestServer } from "./server.ts";

interface Waiting {
  id: string;
  kind: string;
  request_id: string;
  priority: number;
  position: number;
}

describe("jobs that wait, over REST", () => {
  const sandboxes = "/api/v1/sandboxes";
  let server: TestServer;
  let api: Api;
  let sandbox: string;
  let block: AbortController;
  let busy: Promise<unknown>;

  beforeAll(async () => {
    server = await openTestServer("container", { maxConcurrent: 1 });
    api = await server.as("agent");
    sandbox = await api.create();
    block = new AbortController();
    const long = { command: "sleep 1000", timeout_seconds: 1000 };
    busy = api.post(`${sandboxes}/${sandbox}/exec`, long, { signal: block.signal }).catch(() => undefined);
    while ((await api.get("/api/v1/queue")).json.running === 0) await sleep(10);
  });
  afterAll(async () => {
    block.abort();
    await busy;
    await server[Symbol.asyncDispose]();
  });

  const jobs = async (): Promise<Waiting[]> => (await api.get("/api/v1/queue")).json.jobs;
  const waiting = async (count: number): Promise<Waiting[]> => {
    for (;;) {
      const found = await jobs();
      if (found.length === count) return found;
      await sleep(10);
    }
  };
  const made = async () => (await api.get(sandboxes)).json.length;

  it("[LIF-11] tells the place of a create, and cancels it by its id for nobody else's namespace", async () => {
    const refused = api.post(sandboxes, { session_key: "cancelled" });
    const [job] = await waiting(1);
    expect(job).toMatchObject({ kind: "create", sandbox_id: null, priority: 0, position: 1 });
    const path = `/api/v1/queue/${job?.id}`;
    expect((await (await server.as("agent", "other")).delete(path)).status).toBe(404);
    expect((await (await server.as("agent", "other")).get("/api/v1/queue")).json).toMatchObject({
      waiting: 1,
      jobs: [],
    });
    expect((await api.delete(path)).json).toMatchObject({ id: job?.id, kind: "create" });
    expect(await refused).toMatchObject({ status: 409, json: { code: "conflict", details: { job_id: job?.id } } });
    expect((await api.delete(path)).status).toBe(404);
    expect(await jobs()).toEqual([]);
    const [entry] = await server.store.audit.search({ type: "job.cancelled" });
    expect(entry).toMatchObject({ detail: { job_id: job?.id, kind: "create", request_id: job?.request_id } });
    expect(await made()).toBe(1);
  });

  it("[LIF-11] gives the place up of a create or a tool's session whose client goes away", async () => {
    const asks: [string, object][] = [
      [sandboxes, {}],
      ["/api/v1/tools/execute_code", { code: "print(1)", session_id: "tool" }],
    ];
    for (const [path, json] of asks) {
      const gone = new AbortController();
      const answer = api.post(path, json, { signal: gone.signal }).catch(() => "gone");
      await waiting(1);
      gone.abort();
      expect(await answer).toBe("gone");
      await waiting(0);
    }
    expect(await made()).toBe(1);
  });

  it("[LIF-11] asks again for whoever repeats a request whose first client went away", async () => {
    const left = new AbortController();
    const begun = Promise.withResolvers<void>();
    const { namespace, role } = { namespace: "default", role: "agent" } as const;
    const caller = { principal: { id: "k", name: "k", namespace, role }, requestId: "r" };
    const route = server.routes.find(({ method, path }) => method === "POST" && path === sandboxes) as Route;
    const keys = new Idempotency(server.store.idempotency);
    const attempt = { caller, route, key: "repeated", request: {} };
    const first = keys.once({ ...attempt, caller: { ...caller, gone: left.signal } }, async () => {
      const gone = new Promise((resolve) => left.signal.addEventListener("abort", resolve));
      begun.resolve();
      await gone;
      throw new Error("gone");
    });
    const second = keys.once(attempt, async () => ({ status: 201, json: { by: "second" } }));
    await begun.promise;
    left.abort();
    await expect(first).rejects.toThrow("gone");
    expect(await second).toEqual({ status: 201, json: { by: "second" } });
  });

  it("[LIF-11] goes by the priority of a request, whatever it queues, and by the SDK cancels what waits", async () => {
    const key = { key: api.headers["x-api-key"] ?? "" };
    const [plain, fast] = [
      new Caisson({ url: server.base, ...key }),
      new Caisson({ url: server.base, ...key, priority: 7 }),
    ];
    const all = [plain.createSandbox(), fast.createSandbox(), plain.createSandbox({ priority: 9 })];
    const ends = all.map((one) => one.then(String, (error: { code: string }) => error.code));
    await waiting(3);
    const { jobs: found } = await plain.queue();
    expect(found.map(({ priority, position }) => [priority, position])).toEqual([
      [9, 1],
      [7, 2],
      [0, 3],
    ]);
    for (const { id } of found) expect(await plain.cancelJob(id)).toMatchObject({ id });
    expect(await Promise.all(ends)).toEqual(["conflict", "conflict", "conflict"]);
    const operator = await server.as("operator");
    const asked = operator.with({ "x-caisson-priority": "-100" }).post("/api/v1/templates", { name: "built" });
    const [job] = await waiting(1);
    expect(job).toMatchObject({ kind: "create", priority: -100 });
    await plain.cancelJob(job?.id ?? "");
    expect((await asked).status).toBe(409);
    for (const bad of ["101", "-101", "1.5", "x", ""])
      expect((await api.get(sandboxes, { headers: { "x-caisson-priority": bad }, bad: true })).status).toBe(400);
  });

  it("[LIF-11] [EVT-01] that find it full are told when to come again, and an event tells of it", async () => {
    const gone = new AbortController();
    const path = `${sandboxes}/${sandbox}/exec`;
    const ask = () => api.post(path, { command: "true" }, { signal: gone.signal }).catch(() => "gone");
    const all = Array.from({ length: queueLimits.waitingPerNamespace }, ask);
    await waiting(queueLimits.waitingPerNamespace);
    const { status, json, headers } = await api.post(path, { command: "true" });
    expect([status, json.code]).toEqual([429, "limit_exceeded"]);
    expect(headers.get("retry-after")).toBe(String(json.retry_after));
    expect(json.retry_after * 1000).toBeGreaterThanOrEqual(queueLimits.retryMinMs);
    expect(json.retry_after * 1000).toBeLessThanOrEqual(queueLimits.retryMaxMs);
    for await (const message of messages(await api.open("GET", "/api/v1/events?types=queue.backpressure&after=0"))) {
      expect(message).toMatchObject({ type: "queue.backpressure", namespace: "default", sandbox_id: null });
      expect(message.data).toEqual({ waiting: queueLimits.waitingPerNamespace });
      break;
    }
    gone.abort();
    expect(new Set(await Promise.all(all))).toEqual(new Set(["gone"]));
    await waiting(0);
  });
});
