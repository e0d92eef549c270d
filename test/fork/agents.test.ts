import { expect, it } from "vitest";
import { openTestServer } from "../http/server.ts";

it("[MCP-06] an agent goes on in copies of its session, each with the variables of before", async () => {
  await using server = await openTestServer("gvisor");
  const api = await server.as("agent");
  const call = async (tool: string, input: object) => {
    const { status, json } = await api.post(`/api/v1/tools/${tool}`, input);
    expect(status).toBe(200);
    return json.result ?? json;
  };
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
