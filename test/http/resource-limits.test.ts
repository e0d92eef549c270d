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

  it("[EXE-01] are refused twice under two names, and where a run would have fewer cores", async () => {
    const twice = await agent.post("/api/v1/sandboxes", { memory_mb: 128, resource_limits: { max_ram_mb: 128 } });
    expect([twice.status, twice.json.detail]).toEqual([400, "memory_mb and max_ram_mb are the same limit: give one"]);
    const id = await agent.create();
    const fewer = { command: "true", resource_limits: { max_cpu_cores: 0.5 } };
    const answer = await agent.post(`/api/v1/sandboxes/${id}/exec`, fewer);
    expect(answer.json).toMatchObject({ code: "unsupported" });
  });
});
