import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
import { engines } from "../harness.ts";
import { connectClient } from "../mcp/client.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

/** The end of a run, as a place tells of it. */
interface Told {
  type: string;
  run: string;
}

/** Bodies of all deliveries. */
async function openReceiver() {
  const got: Told[] = [];
  const server = createServer(async (request, response) => {
    const { type, run_id } = JSON.parse((await request.setEncoding("utf8").toArray()).join(""));
    got.push({ type, run: run_id });
    response.writeHead(200).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { got, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

describe("the end of a run", () => {
  let server: TestServer;
  let api: Api;
  let operator: Api;
  let at: string;
  let receiver: Awaited<ReturnType<typeof openReceiver>>;
  const fed: JournalEvent[] = [];
  const ends = ["execution.completed", "execution.failed", "execution.timeout"] as const;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
    operator = await server.as("operator");
    at = `/api/v1/sandboxes/${await api.create()}`;
    receiver = await openReceiver();
    await operator.post("/api/v1/webhooks", { url: receiver.url, types: [...ends] });
    const reader = server.journal.read({ types: ends });
    void (async () => {
      for await (const event of reader) if (event.type !== "events.lag") fed.push(event);
    })();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    receiver.server.close();
    receiver.server.closeAllConnections();
  });

  const run = async (json: object) => (await api.post(`${at}/exec`, json)).json;
  const inFeed = (id: string) => fed.filter(({ run_id }) => run_id === id).map(({ type }) => type);
  const inWebhook = (id: string) => receiver.got.filter((told) => told.run === id).map(({ type }) => type);
  const inLog = async (id: string) => {
    const rows = await server.store.audit.search({ runId: id, after: 0 });
    return rows.filter(({ type }) => ends.some((end) => end === type));
  };

  it.each([
    ["exits with 0", { command: "true" }, "completed", null],
    ["exits with 1", { command: "exit 1" }, "failed", null],
    ["runs out of time", { command: "sleep 60", timeout_seconds: 0.2 }, "timeout", "time"],
    [
      "uses up its CPU time",
      { command: "while :; do :; done", resource_limits: { cpu_time_seconds: 1 } },
      "failed",
      "cpu_time",
    ],
  ] as const)(
    "[EXE-14] [AUD-01] [EVT-01] that %s is one outcome in its result, record, audit entry, event, webhook and export",
    async (_how, request, outcome, ended_by) => {
      const result = await run(request);
      const id: string = result.run_id;
      const type = `execution.${outcome}`;
      expect(result).toMatchObject({ outcome, ended_by });
      const [record] = (await api.get(`${at}/runs`)).json;
      expect(record).toMatchObject({ run_id: id, outcome, ended_by });
      const [entry, ...more] = await inLog(id);
      expect(more).toEqual([]);
      expect(entry).toMatchObject({ type, detail: { exit_code: result.exit_code, ended_by } });
      await vi.waitFor(() => expect([inFeed(id), inWebhook(id)]).toEqual([[type], [type]]), 20_000);
      const lines = (await operator.get(`/api/v1/audit/export?format=ocsf&run_id=${id}`)).bytes.toString().trim();
      const event = JSON.parse(lines.split("\n").at(-1) ?? "");
      expect(event).toMatchObject({ message: type, status_id: outcome === "completed" ? 1 : 2 });
    },
  );

  it("[EXE-14] without a result is a failure in its audit entry, record and event", async () => {
    const { status } = await api.post(`${at}/exec`, { command: ["/no/such/program"] });
    expect(status).toBe(404);
    const [record] = (await api.get(`${at}/runs`)).json;
    expect(record).toMatchObject({ outcome: "failed", ended_by: null, error: { code: "not_found" } });
    expect(await inLog(record.run_id)).toMatchObject([
      { type: "execution.failed", detail: { error_code: "not_found" } },
    ]);
    await vi.waitFor(() => expect(inFeed(record.run_id)).toEqual(["execution.failed"]));
  });

  it("[EXE-14] of a process in the background is in the audit log too", async () => {
    const { json } = await api.post(`${at}/processes`, { command: "exit 3" });
    await api.post(`${at}/processes/${json.id}/wait`);
    await vi.waitFor(() => expect(inFeed(json.run_id)).toEqual(["execution.failed"]));
    const rows = await server.store.audit.search({ runId: json.run_id, after: 0 });
    expect(rows).toMatchObject([
      { type: "process.started", detail: { id: json.id, kind: "process" } },
      { type: "execution.failed", actor: "system", detail: { exit_code: 3 } },
    ]);
  });

  it.each(["exec", "process"] as const)(
    "[AUD-01] [S103] is told by feed, webhook and answer (%s) only once the audit log has it",
    async (kind) => {
      const { store } = server;
      const begin = store.batch.bind(store);
      const reached = Promise.withResolvers<string>();
      const gate = Promise.withResolvers<void>();
      const spy = vi.spyOn(store, "batch").mockImplementation(() => {
        const batch = begin();
        let end: string | undefined;
        const [record, commit] = [batch.record.bind(batch), batch.commit.bind(batch)];
        batch.record = (entry) => {
          if (ends.some((type) => type === entry.type)) end = entry.runId ?? "";
          record(entry);
        };
        batch.commit = async () => {
          if (end !== undefined) {
            reached.resolve(end);
            await gate.promise;
          }
          return commit();
        };
        return batch;
      });
      let isAnswered = false;
      const answered = async (): Promise<void> => {
        if (kind === "exec") await run({ command: "true" });
        else {
          const { json } = await api.post(`${at}/processes`, { command: "true" });
          await api.post(`${at}/processes/${json.id}/wait`);
        }
        isAnswered = true;
      };
      const answer = answered();
      const id = await reached.promise;
      await api.get(`${at}/runs`); // whatever would be told has been told by then
      expect([isAnswered, inFeed(id), inWebhook(id), await inLog(id)]).toEqual([false, [], [], []]);
      expect(await server.store.runs.get("default", id)).toBeUndefined();
      gate.resolve();
      await answer;
      await vi.waitFor(() => expect([inFeed(id), inWebhook(id)]).toEqual([[ends[0]], [ends[0]]]), 20_000);
      expect(await server.store.runs.get("default", id)).toMatchObject({ run_id: id, outcome: "completed" });
      spy.mockRestore();
    },
  );

  it("[EXE-14] of stateful code has hashes of its output in the audit log", async () => {
    const client = await connectClient(server, "2026-07-28");
    const input = { session_id: "kept", language: "python", code: "print('kept')" };
    const { structuredContent } = await client.callTool({ name: "execute_code", arguments: input });
    const { run_id, state, outcome } = structuredContent as { run_id: string; state: string; outcome: string };
    expect([state, outcome]).toEqual(["new", "completed"]);
    const stdout_sha256 = createHash("sha256").update("kept\n").digest("hex");
    expect(await inLog(run_id)).toMatchObject([{ type: "execution.completed", detail: { stdout_sha256 } }]);
    await client.close();
  });
});
