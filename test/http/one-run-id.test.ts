import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { messages } from "./messages.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const isRun = /^run_[0-9a-f]{16}$/;

describe("the id of a run", () => {
  let server: TestServer;
  let agent: Api;
  let operator: Api;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine, { commands: { ask: ["touch asked"] } });
    agent = await server.as("agent");
    operator = await server.as("operator");
    at = `/api/v1/sandboxes/${await agent.create()}`;
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const entriesOf = async (run: string) => {
    const { json } = await operator.get(`/api/v1/audit?run_id=${run}&limit=100`);
    return (json as { type: string; run_id: string }[]).map(({ type }) => type).reverse();
  };
  /** Types of the events that have it, once its end is among them. */
  const eventsOf = async (run: string) => {
    const found: string[] = [];
    const types = "execution.started,execution.completed,execution.failed,execution.timeout";
    for await (const { type, run_id } of messages(await agent.open("GET", `/api/v1/events?types=${types}&after=0`))) {
      if (run_id !== run) continue;
      found.push(type);
      if (type !== "execution.started") break;
    }
    return found;
  };
  const recordOf = async (run: string) =>
    ((await agent.get(`${at}/runs`)).json as { run_id: string }[]).find((record) => record.run_id === run);

  it("[EXE-14] is one in its answer, its header, its audit entry, its events and its record", async () => {
    const { json, headers } = await agent.post(`${at}/exec`, { command: "echo one" });
    expect(json.run_id).toMatch(isRun);
    expect(headers.get("x-caisson-run-id")).toBe(json.run_id);
    expect(await entriesOf(json.run_id)).toEqual(["execution.completed"]);
    expect(await eventsOf(json.run_id)).toEqual(["execution.started", "execution.completed"]);
    expect(await recordOf(json.run_id)).toMatchObject({ command: "echo one", stdout: "one\n" });
  });

  it("[EXE-14] comes before the output of a run that streams", async () => {
    const response = await agent.open("POST", `${at}/execute_code`, {
      json: { language: "python", code: "print(1)", stream: true },
    });
    const run = response.headers.get("x-caisson-run-id") ?? "";
    expect(run).toMatch(isRun);
    const told = [];
    for await (const message of messages(response)) told.push(message);
    expect(told.at(-1)).toMatchObject({ type: "result", run_id: run });
    expect(await entriesOf(run)).toEqual(["execution.started", "execution.completed"]);
  });

  it("[EXE-14] is one for code in a context and for a background process", async () => {
    const { json: context } = await agent.post(`${at}/contexts`, { language: "python" });
    const { json: code } = await agent.post(`${at}/contexts/${context.id}/run`, { code: "1" });
    expect(code.run_id).toMatch(isRun);
    expect(await eventsOf(code.run_id)).toEqual(["execution.started", "execution.completed"]);
    expect(await entriesOf(code.run_id)).toEqual(["execution.completed"]);
    const { json: started } = await agent.post(`${at}/processes`, { command: "true" });
    expect(started.run_id).toMatch(isRun);
    expect(await eventsOf(started.run_id)).toEqual(["execution.started", "execution.completed"]);
    expect(await entriesOf(started.run_id)).toContain("process.started");
    expect(await recordOf(started.run_id)).toBeDefined();
  });

  it("[AUD-02] [EXE-14] is in every entry about what is done to a background process, by route and by tool", async () => {
    const start = async () => {
      const { json } = await agent.post(`${at}/processes`, { command: ["cat"], terminal: { rows: 2, columns: 20 } });
      return { run: json.run_id as string, process_id: json.id as string };
    };
    const [routes, tools] = [await start(), await start()];
    const own = `${at}/processes/${routes.process_id}`;
    await agent.post(`${own}/stdin`, { data: "x" });
    await agent.post(`${own}/resize`, { rows: 3, columns: 30 });
    await agent.post(`${own}/signal`, { signal: "SIGCONT" });
    await agent.delete(own);
    const call = (name: string, more: object) =>
      agent.post(`/api/v1/tools/${name}`, { process_id: tools.process_id, session_id: at.split("/").at(-1), ...more });
    await call("process_input", { data: "x" });
    await call("kill_process", { signal: "SIGCONT" });
    await call("kill_process", {});
    for (const [{ run }, types] of [
      [routes, ["process.input", "process.resized", "process.signalled", "process.killed"]],
      [tools, ["process.input", "process.signalled", "process.killed"]],
    ] as const)
      await vi.waitFor(async () =>
        expect((await entriesOf(run)).sort()).toEqual(["execution.failed", "process.started", ...types].sort()),
      );
  });

  it("[EXE-12] [EXE-14] is that of the approval which the run asked for", async () => {
    const running = agent.post(`${at}/exec`, { command: "touch asked" });
    const question = await vi.waitFor(
      async () => {
        const { json } = await operator.get("/api/v1/approvals?state=pending");
        expect(json).toHaveLength(1);
        return json[0] as { id: string; run_id: string };
      },
      { timeout: 30_000, interval: 20 },
    );
    await operator.post(`/api/v1/approvals/${question.id}/decide`, { approve: true });
    const { json } = await running;
    expect(json.run_id).toBe(question.run_id);
    expect(await entriesOf(json.run_id)).toEqual(["approval.requested", "approval.approved", "execution.completed"]);
  });
});
