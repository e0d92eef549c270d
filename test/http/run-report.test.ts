import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { reportLimits } from "../../packages/server/src/core/run-report.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const root = "/api/v1/sandboxes";

describe("GET /api/v1/runs/{run_id}", () => {
  let server: TestServer;
  let agent: Api;
  let operator: Api;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine, { commands: { ask: ["touch asked"] }, maxConcurrent: 1 });
    agent = await server.as("agent");
    operator = await server.as("operator");
    at = `${root}/${await agent.create()}`;
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const exec = async (command: string) => (await agent.post(`${at}/exec`, { command })).json.run_id as string;
  const reportOf = async (id: string, api = operator) => (await api.get(`/api/v1/runs/${id}`)).json;
  const found = <T>(find: () => Promise<T | undefined>) =>
    vi.waitFor(
      async () => {
        const one = await find();
        expect(one).toBeDefined();
        return one as T;
      },
      { timeout: 30_000, interval: 20 },
    );
  const decide = async () => {
    const question = await found(async () => (await operator.get("/api/v1/approvals?state=pending")).json[0]);
    await operator.post(`/api/v1/approvals/${question.id}/decide`, { approve: true, scope: "sandbox" });
    return question;
  };

  it("[EXE-14] [AUD-02] has the audit entries that the key may read in the log, and the events of all", async () => {
    const id = await exec("true");
    const report = await reportOf(id);
    expect(report.audit).toMatchObject([{ type: "execution.completed", run_id: id }]);
    const mine = await reportOf(id, agent);
    expect(mine).toEqual(report);
    for (const role of ["viewer", "agent"] as const)
      expect(await reportOf(id, await server.as(role))).toEqual({ ...report, audit: [] });
  });

  it("[IDN-04] [S30] [S79] does not exist for another namespace, nor for who may not find its sandbox", async () => {
    const id = await exec("true");
    const none = "run_0000000000000000";
    const told = async (api: Api, run: string) => {
      const { status, json } = await api.get(`/api/v1/runs/${run}`);
      return JSON.stringify({ status, ...json, request_id: "" }).replaceAll(run, "RUN");
    };
    const elsewhere = await server.as("admin", "elsewhere");
    expect(JSON.parse(await told(elsewhere, none))).toMatchObject({ status: 404, detail: "unknown run RUN" });
    expect(await told(elsewhere, id)).toBe(await told(elsewhere, none));
    const principal = { id: "k", name: "operator", namespace: "default", role: "operator" } as const;
    const { record } = await server.fleet.create({ principal, requestId: "r" }, { forTemplate: true });
    const { json } = await operator.post(`${root}/${record.id}/exec`, { command: "echo made" });
    for (const state of ["running", "destroyed"]) {
      if (state === "destroyed") await operator.delete(`${root}/${record.id}`);
      expect((await reportOf(json.run_id)).record, state).toMatchObject({ stdout: "made\n" });
      expect(await told(agent, json.run_id), state).toBe(await told(agent, none));
    }
  });

  it("[EXE-12] [EXE-14] has the approval that answered it, also where another run asked", async () => {
    const first = agent.post(`${at}/exec`, { command: "touch asked" });
    const question = await decide();
    const asked = (await first).json.run_id;
    const answered = await exec("touch asked");
    expect((await reportOf(asked)).approvals).toMatchObject([{ id: question.id, run_id: asked }]);
    expect((await reportOf(answered)).approvals).toMatchObject([{ id: question.id, run_id: asked }]);
    expect((await reportOf(await exec("true"))).approvals).toEqual([]);
  });

  it("[NET-11] has attempts of its sandbox while it ran, and none from before or after", async () => {
    const before = await exec("curl -s http://before.example/");
    const during = await exec("curl -s http://during.example/");
    const after = await exec("curl -s http://after.example/");
    for (const [id, host] of [
      [before, "before.example"],
      [during, "during.example"],
      [after, "after.example"],
    ] as const) {
      const { egress } = await reportOf(id);
      expect(egress.scope).toBe("attempts in its sandbox while it ran");
      expect(egress.attempts).toMatchObject([{ host, port: 80, verdict: "denied" }]);
      expect(Date.parse(egress.from)).toBeLessThanOrEqual(Date.parse(egress.attempts[0].started_at));
      expect(Date.parse(egress.to)).toBeGreaterThanOrEqual(Date.parse(egress.attempts[0].started_at));
    }
  });

  it("[EXE-09] has the files of the output folder that the run itself left", async () => {
    await agent.put(`${at}/files/output/before.txt`, "before");
    await agent.put(`${at}/files/output/gone.txt`, "gone");
    const id = await exec("mkdir output/deep; printf new >output/deep/new.txt; rm output/gone.txt; touch elsewhere");
    const { json: listed } = await agent.get(`${at}/artifacts`);
    const { artifacts } = await reportOf(id);
    expect(artifacts).toMatchObject([{ path: "deep/new.txt", size_bytes: 3 }]);
    expect(listed).toEqual(expect.arrayContaining(artifacts));
  });

  it("[LIF-11] [EXE-14] has its place in the queue while it waits, and no record", async () => {
    const running = exec("until [ -e go ]; do sleep 0.02; done");
    await found(async () => ((await agent.get("/api/v1/queue")).json.running === 1 ? true : undefined));
    const waiting = exec("true");
    const { id } = await found(async () => (await agent.get("/api/v1/queue")).json.jobs[0]);
    expect(await reportOf(id)).toMatchObject({
      ...{ run_id: id, job: { id, kind: "command", position: 1 }, record: null, audit: [] },
      egress: { from: null, to: null, attempts: [] },
    });
    await agent.put(`${at}/files/go`, "");
    await running;
    expect(await waiting).toBe(id);
    expect(await reportOf(id)).toMatchObject({ job: null, record: { outcome: "completed" } });
  });

  it("[EXE-14] is there from the start of a background process, with what its sandbox attempts so far", async () => {
    const command = "curl -s http://background.example/ >/dev/null; cat";
    const { json } = await agent.post(`${at}/processes`, { command, stdin: true });
    const begun = await found(async () => {
      const report = await reportOf(json.run_id);
      return report.egress.attempts.length === 0 ? undefined : report;
    });
    expect(begun).toMatchObject({ record: null, egress: { to: null, attempts: [{ host: "background.example" }] } });
    expect(begun.audit).toMatchObject([{ type: "process.started" }]);
    await agent.post(`${at}/processes/${json.id}/stdin`, { close: true });
    await agent.post(`${at}/processes/${json.id}/wait`);
    const ended = await found(async () => {
      const report = await reportOf(json.run_id);
      return report.record === null ? undefined : report;
    });
    expect(ended.record).toMatchObject({ command: expect.stringContaining("background"), outcome: "completed" });
  });

  it("[AUD-02] cuts its lists, says which, and knows the end of a run whose entries it cuts", async () => {
    const { json } = await agent.post(`${at}/processes`, { command: "cat >/dev/null", stdin: true });
    const write = (more: object) => agent.post(`${at}/processes/${json.id}/stdin`, more);
    for (let at = 0; at < reportLimits.rows; at++) await write({ data: "x" });
    await write({ close: true });
    await agent.post(`${at}/processes/${json.id}/wait`);
    const report = await reportOf(json.run_id);
    expect(report.audit).toHaveLength(reportLimits.rows);
    expect(report.truncated).toEqual(["audit", "events"]);
    const ended = await found(
      async () => (await operator.get(`/api/v1/audit?run_id=${json.run_id}&type=execution.completed`)).json[0],
    );
    expect((await reportOf(json.run_id)).egress.to).toBe(ended.at);
    const loud = await exec("i=0; while [ $i -lt 3000 ]; do echo line; i=$((i+1)); done");
    expect((await reportOf(loud)).truncated).toEqual(["artifacts"]); // its record was cut, so files may be missing
    const hosts = Array.from({ length: reportLimits.attempts + 1 }, (_, at) => `h${at}.example`);
    const busy = await exec(`for host in ${hosts.join(" ")}; do curl -s http://$host/ >/dev/null; done`);
    const { egress, truncated } = await reportOf(busy);
    expect(truncated).toEqual(["egress"]);
    expect(egress.attempts.map(({ host }: { host: string }) => host)).toEqual(hosts.slice(1));
  });
});
