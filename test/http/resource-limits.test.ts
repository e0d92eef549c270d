import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

describe("limits by the names of settings", () => {
  let server: TestServer;
  let agent: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    agent = await server.as("agent");
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("[EXE-01] hold for a sandbox, a session and a run", async () => {
    const own = { max_ram_mb: 256, max_cpu_cores: 1, max_processes: 40 };
    const shown = { memory_mb: 256, cpus: 1, max_processes: 40 };
    const made = await agent.post("/api/v1/sandboxes", { resource_limits: own });
    expect(made.json).toMatchObject(shown);
    const session = await agent.post("/api/v1/tools/create_session", { resource_limits: own, session_id: "limited" });
    expect(session.json.result).toMatchObject(shown);
    const limits = {
      ...{ max_ram_mb: 128, max_cpu_cores: 1, timeout_seconds: 0.2, max_processes: 5, max_output_bytes: 1000 },
    };
    const run = (path: string, json: object) => agent.post(`/api/v1/sandboxes/${made.json.id}/${path}`, json);
    const noisy = { command: "yes | head -c 5000; sleep 60", resource_limits: limits };
    expect((await run("exec", noisy)).json).toMatchObject({ ended_by: "time", truncated: true });
    const code = { code: "sleep 60", language: "shell", resource_limits: limits, session_id: "limited" };
    const answer = await agent.post("/api/v1/tools/execute_code", code);
    expect(answer.json.result).toMatchObject({ ended_by: "time" });
  });

  it("[EXE-06] hold for a context and the runs in it, and are refused with the reason where an interpreter cannot hold them", async () => {
    const { json: made } = await agent.post("/api/v1/sandboxes", {
      resource_limits: { max_ram_mb: 256, max_cpu_cores: 1, max_processes: 40 },
    });
    const path = `/api/v1/sandboxes/${made.id}/contexts`;
    const own = { max_ram_mb: 96, max_processes: 4, max_cpu_cores: 1 };
    const { status, json: context } = await agent.post(path, { language: "python", resource_limits: own });
    expect(status).toBe(201);
    const run = (code: string, resource_limits: object) =>
      agent.post(`${path}/${context.id}/run`, { code, resource_limits });
    const late = await run("import time; print('x' * 5000); time.sleep(60)", {
      ...{ timeout_seconds: 0.3, max_output_bytes: 1000, max_cpu_cores: 1 },
    });
    expect(late.json).toMatchObject({ ended_by: "time", stdout: "x".repeat(1000), truncated: true });
    const crowd =
      "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'for i in 1 2 3 4 5 6; do sleep 1 & done; wait'])";
    expect(JSON.stringify((await run(crowd, {})).json)).toMatch(/Cannot fork|Resource temporarily unavailable/);
    expect((await run("x = b'x' * 200_000_000", {})).json).toMatchObject({ ended_by: "memory" });
    const refusals: [Promise<{ status: number; json: unknown }>, RegExp, RegExp][] = [
      [run("1", { max_ram_mb: 64 }), /no limit of memory or processes/, /when the context is created/],
      [run("1", { max_processes: 4 }), /shares an interpreter/, /process of its own/],
      [run("1", { max_cpu_cores: 0.5 }), /fewer cores/, /of the sandbox/],
      [agent.post(path, { language: "node", resource_limits: { timeout_seconds: 5 } }), /lives on/, /of each run/],
      [agent.post(path, { language: "node", resource_limits: { max_cpu_cores: 0.5 } }), /fewer cores/, /sandbox/],
      [
        agent.post(`/api/v1/sandboxes/${made.id}/processes`, {
          ...{ command: "true", resource_limits: { max_output_bytes: 5000 } },
        }),
        /no limit of output/,
        /omit/,
      ],
    ];
    for (const [answer, detail, hint] of refusals)
      expect(await answer).toMatchObject({
        status: 422,
        json: { detail: expect.stringMatching(detail), hint: expect.stringMatching(hint) },
      });
    const tool = { code: "1", language: "python", session_id: "kept", resource_limits: { max_ram_mb: 64 } };
    const refused = await agent.post("/api/v1/tools/execute_code", tool);
    expect(refused.json).toMatchObject({ hint: expect.stringContaining("stateful: false") });
  });

  it("[EXE-01] are refused twice under two names, and where a run would have fewer cores", async () => {
    const twice = await agent.post("/api/v1/sandboxes", { memory_mb: 128, resource_limits: { max_ram_mb: 128 } });
    expect([twice.status, twice.json.detail]).toEqual([
      400,
      "memory_mb and max_ram_mb are the same limit: set only one",
    ]);
    const id = await agent.create();
    const fewer = { command: "true", resource_limits: { max_cpu_cores: 0.5 } };
    const answer = await agent.post(`/api/v1/sandboxes/${id}/exec`, fewer);
    expect(answer.json).toMatchObject({ code: "unsupported" });
  });
});
