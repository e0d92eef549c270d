import { expect, it } from "vitest";
import type { Api } from "../http/api.ts";
import { openTestServer } from "../http/server.ts";

const callsOf = (api: Api) => async (tool: string, input: object) => {
  const { status, json } = await api.post(`/api/v1/tools/${tool}`, input);
  expect(status, JSON.stringify(json)).toBe(200);
  return json.result ?? json;
};

it("[MCP-06] an agent goes on in copies of its session, each with the variables of before", async () => {
  await using server = await openTestServer("gvisor");
  const call = callsOf(await server.as("agent"));
  const session_id = "notebook";
  await call("execute_code", { session_id, language: "python", code: "history = ['begun']" });
  const { copies, memory } = await call("fork_sandbox", { session_id, count: 2 });
  expect(memory).toBe(true);
  for (const [index, { sandbox_id }] of copies.entries()) {
    const code = `history.append(${index}); print(history)`;
    const { stdout, state } = await call("execute_code", { session_id: sandbox_id, language: "python", code });
    expect({ stdout, state }).toEqual({ stdout: `['begun', ${index}]\n`, state: "kept" });
  }
  const { stdout } = await call("execute_code", { session_id, language: "python", code: "print(history)" });
  expect(stdout).toBe("['begun']\n");
});

it("[MCP-06] [LIF-07] an agent goes on from a checkpoint with the variables of then, when its session is gone too", async () => {
  await using server = await openTestServer("gvisor");
  const api = await server.as("agent");
  const call = callsOf(api);
  const session_id = "notebook";
  const run = async (at: string, code: string) =>
    (await call("execute_code", { session_id: at, language: "python", code })).stdout;
  await run(session_id, "history = ['begun']");
  const saved = await call("create_checkpoint", { session_id, name: "begun" });
  const { checkpoint_id } = saved;
  expect(await call("list_checkpoints", { session_id })).toEqual({ checkpoints: [saved], truncated: false });
  await run(session_id, "history.append('wrong')");
  await call("terminate_session", { session_id });
  expect((await call("list_checkpoints", {})).checkpoints).toEqual([saved]);
  for (const word of ["first", "second"]) {
    const { sandbox_id } = await call("restore_checkpoint", { checkpoint_id });
    expect(await run(sandbox_id, `history.append('${word}'); print(history)`)).toBe(`['begun', '${word}']\n`);
    await call("terminate_session", { session_id: sandbox_id });
  }
  const status = async (who: Api, tool: string, input: object) =>
    (await who.post(`/api/v1/tools/${tool}`, input)).status;
  const stranger = await server.as("agent", "elsewhere");
  expect((await stranger.post("/api/v1/tools/list_checkpoints", {})).json.result.checkpoints).toEqual([]);
  const viewer = await server.as("viewer");
  expect(await status(viewer, "list_checkpoints", {})).toBe(200);
  for (const tool of ["restore_checkpoint", "delete_checkpoint"]) {
    expect(await status(stranger, tool, { checkpoint_id })).toBe(404);
    expect(await status(viewer, tool, { checkpoint_id })).toBe(403);
  }
  expect(await call("delete_checkpoint", { checkpoint_id })).toEqual({ checkpoint_id, deleted: true });
  expect(await status(api, "restore_checkpoint", { checkpoint_id })).toBe(404);
});

it("[MCP-06] a session whose engine saves no memory has no checkpoint, and the agent is told what to do instead", async () => {
  await using server = await openTestServer("container");
  const api = await server.as("agent");
  const create = () => api.post("/api/v1/tools/create_checkpoint", { session_id: "notebook" });
  expect((await create()).status).toBe(404); // nothing is made for it
  await callsOf(api)("execute_code", { session_id: "notebook", code: "x = 1" });
  const { status, json } = await create();
  expect([status, json.code]).toEqual([422, "unsupported"]);
  expect(json.hint).toContain("snapshot");
});
