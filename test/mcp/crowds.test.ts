import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const [engine = "container"] = engines;
const crowd = (names: number) => Object.fromEntries(Array.from({ length: names }, (_, index) => [`k${index}`, 1]));

/** Each name costs a reader of schemas time, in which nobody else is served. */
describe("input with very many names", () => {
  let server: TestServer;
  let token: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    ({ token } = await server.keyring.issue({ name: "viewer", namespace: "default", role: "viewer" }));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const post = async (message: unknown) => {
    const headers = {
      "x-api-key": token,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const answer = await fetch(`${server.base}/mcp`, { method: "POST", headers, body: JSON.stringify(message) });
    return { status: answer.status, text: await answer.text() };
  };
  const call = (params: object) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params });

  it.each([
    ["a message", { ...call({}), ...crowd(20_000) }],
    ["parameters", call(crowd(20_000))],
    ["a tool's input", call({ name: "execute_code", arguments: crowd(2_000) })],
    ["an object in it", call({ name: "create_session", arguments: { env: crowd(200_000) } })],
    ["what stands beside it", call({ name: "execute_code", _meta: { a: { b: [crowd(20_000)] } } })],
    ["one message of several", [call({}), call(crowd(20_000))]],
  ])("[MCP-01] is refused before the protocol reads it: %s", async (what, message) => {
    const { status, text } = await post(message);
    const refusal = [status, JSON.parse(text).error.data.code];
    // Names that a message cannot have are refused by its schema.
    expect([[413, "too_large"], ...(what === "a message" ? [[400, "invalid"]] : [])]).toContainEqual(refusal);
  });

  it("is refused by REST too, and what is told of bad input is short", async () => {
    const agent = await server.as("agent");
    const tool = (json: object) => agent.send("POST", "/api/v1/tools/execute_code", { json, bad: true });
    expect(await tool(crowd(2_000))).toMatchObject({ status: 413 });
    const { status, json } = await tool(crowd(900));
    expect([status, json.code]).toEqual([400, "invalid"]);
    expect(JSON.stringify(json).length).toBeLessThan(2_000);
    expect(await tool({ code: 1 })).toMatchObject({ status: 400 });
  });

  it("is none where it is data", async () => {
    const agent = await server.as("agent");
    const json = { data: crowd(50_000), schema_name_or_dict: { type: "object" } };
    const { status, json: told } = await agent.send("POST", "/api/v1/tools/validate_json_data", { json });
    expect([status, told.result.valid]).toEqual([200, true]);
  });
});
