import { expect, it } from "vitest";
import { until } from "../fleet/fixture.ts";
import { engines } from "../harness.ts";
import { openTestServer } from "../http/server.ts";

it.each(engines)(
  "[MCP-06] [IMG-06] an agent finds a template and begins a session where it does, %s",
  async (engine) => {
    await using server = await openTestServer(engine);
    const operator = await server.as("operator");
    const warm_up = { language: "python", code: "rows = [1, 2, 3]" };
    const made = await operator.post("/api/v1/templates", { name: "table", description: "three rows", warm_up });
    const state = async () => (await operator.get(`/api/v1/templates/${made.json.id}`)).json.state;
    await until(async () => (await state()) === "ready");
    const agent = await server.as("agent");
    const call = async (tool: string, input: object) => (await agent.post(`/api/v1/tools/${tool}`, input)).json.result;
    const { templates } = await call("list_templates", {});
    const memory = engine === "gvisor";
    expect(templates).toMatchObject([{ name: "table", description: "three rows", state: "ready", engine, memory }]);
    const session = await call("create_session", { session_id: "work", template: "table" });
    expect(session).toMatchObject({ created: true, template: { name: "table", memory } });
    const ran = await call("execute_code", { session_id: "work", code: "print(sum(rows))" });
    expect([ran.stdout, ran.state]).toEqual(["6\n", "kept"]);
    const stranger = await server.as("agent", "elsewhere");
    expect((await stranger.post("/api/v1/tools/list_templates", {})).json.result.templates).toEqual([]);
    expect((await stranger.post("/api/v1/tools/create_session", { template: "table" })).status).toBe(404);
    await call("terminate_session", { session_id: "work" });
    await operator.delete("/api/v1/templates/table");
  },
);
