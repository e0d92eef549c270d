import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { jsonLimits } from "../../packages/server/src/core/json-limits.ts";
import { sandboxLimits } from "../../packages/server/src/core/limits.ts";
import { HeldBodies } from "../../packages/server/src/http/held-bodies.ts";
import { httpLimits } from "../../packages/server/src/http/limits.ts";
import { mcpLimits } from "../../packages/server/src/mcp-protocol/limits.ts";
import { engines } from "../harness.ts";
import { RawClient } from "./raw.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const MB = 1_000_000;
const exec = "/api/v1/sandboxes/aaaaaaaaaaaaaaaa/exec";

/** A text of about so many bytes in which nearly everything is names. */
function crowded(bytes: number, head: string, foot: string): string {
  const each = 10;
  const names = Array.from({ length: bytes / each }, (_, n) => `"${n.toString(36).padStart(5, "a")}":1`);
  return `${head}{${names.join(",")}}${foot}`;
}

const variables = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`v${n}`, ""]));

describe("[S84] JSON of a shape that would keep a parser busy", () => {
  let server: TestServer;
  let client: RawClient;
  const keys: Record<string, string> = {};
  beforeAll(async () => {
    server = await openTestServer(engine);
    client = new RawClient(server.base);
    for (const role of ["viewer", "agent"] as const)
      keys[role] = (await server.keyring.issue({ name: role, namespace: "default", role })).token;
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  /** The answer, and the longest text that a parser has seen meanwhile. */
  async function post(path: string, role: string, body: string) {
    const parse = vi.spyOn(JSON, "parse");
    const headers = {
      "x-api-key": keys[role] ?? "",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const answer = await client.send({ method: "POST", path, headers, body }, 60_000);
    const parsed = Math.max(0, ...parse.mock.calls.map(([text]) => String(text).length));
    parse.mockRestore();
    return { status: answer?.status, text: answer?.bytes.toString() ?? "", parsed };
  }

  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_code","arguments":{"env":';
  it.each([
    ["25 MB of names", exec, "agent", crowded(24.9 * MB, '{"command":"\\u0041","env":', "}")],
    ["1 MB of names", exec, "agent", crowded(MB, '{"command":"\\u0041","env":', "}")],
    ["a few MB of numbers", exec, "agent", `{"command":[${"1,".repeat(2 * MB)}1]}`],
    ["texts without end", exec, "agent", `{"command":[${'"",'.repeat(MB)}1]}`],
    ["lists in lists", exec, "agent", "[".repeat(MB)],
    ["a long name", exec, "agent", `{"${"a".repeat(MB)}":1}`],
    ["a long number", exec, "agent", `{"command":${"1".repeat(MB)}}`],
    ["names for a tool", "/api/v1/tools/validate_json_data", "agent", crowded(MB, '{"data":', "}")],
    ["names for an agent's tool, by a viewer", "/mcp", "viewer", crowded(15 * MB, call, "}}}")],
    ["more than a message may have, by a viewer", "/mcp", "viewer", crowded(24 * MB, call, "}}}")],
  ])("is refused before a parser sees it: %s", async (_, path, role, body) => {
    const { status, text, parsed } = await post(path, role, body);
    expect([status, /"code":"too_large"/.test(text)]).toEqual([413, true]);
    expect(text).toMatch(/more than \d+|longer than \d+|limit: \d+/);
    expect(parsed).toBeLessThan(64 * 1024);
  });

  it("does not stand for one that holds a long string", async () => {
    const { status, parsed } = await post(exec, "agent", `{"command":"true","stdin":"${"x".repeat(20 * MB)}"}`);
    expect(status).toBe(404);
    expect(parsed).toBeGreaterThan(20 * MB);
    expect(mcpLimits.messageBytes).toBeGreaterThan(15 * MB);
  });

  it("within bounds is judged by the schema, which tells little of it", async () => {
    const { status, text } = await post(exec, "agent", `{"command":[${"1,".repeat(jsonLimits.request.values - 10)}1]}`);
    expect([status, text.length < 10_000]).toEqual([400, true]);
  });

  it("may be no environment either: each door names the most that one has", async () => {
    const { variables: most } = sandboxLimits;
    const env = variables(most + 1);
    const agent = await server.as("agent");
    const id = await agent.create({ env: variables(most) });
    const at = `/api/v1/sandboxes/${id}`;
    for (const [path, json] of [
      ["/api/v1/sandboxes", { env }],
      [`${at}/exec`, { command: "true", env }],
      [`${at}/processes`, { command: "true", env }],
      ["/api/v1/tools/create_session", { env }],
    ] as const) {
      const answer = await agent.post(path, json, { bad: true });
      expect([answer.status, answer.json.code, answer.json.detail], path).toEqual([
        400,
        "invalid",
        expect.stringContaining(`at most ${most} variables`),
      ]);
    }
    const own = await server.caisson.createSandbox();
    const refusal = { code: "invalid", message: expect.stringContaining(`at most ${most} variables`) };
    await expect(own.exec({ command: "true", env })).rejects.toMatchObject(refusal);
    await own.destroy();
    const ran = await agent.post(`${at}/exec`, {
      command: "env | grep -c '^[vw][0-9]'",
      env: Object.fromEntries(Object.keys(variables(most)).map((name) => [name.replace("v", "w"), ""])),
    });
    expect(ran.json.stdout).toBe(`${2 * most}\n`);
  });

  it("[S94] takes memory up to the share of its key and of its namespace, and gives it back with the answer, or when its client goes", async () => {
    for (const [name, namespace] of [
      ["other", "other"],
      ["colleague", "default"],
    ] as const)
      keys[name] = (await server.keyring.issue({ name, namespace, role: "agent" })).token;
    const size = 20 * MB;
    const head = (token: string) =>
      `POST ${exec} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${token}\r\ncontent-type: application/json\r\ncontent-length: ${size + 100}\r\n\r\n`;
    const most = Math.floor(httpLimits.heldBytesPerKey / size);
    const add = vi.spyOn(HeldBodies.prototype, "add");
    const heldBytes = () => add.mock.calls.reduce((sum, [, bytes]) => sum + bytes, 0);
    const mostOfNamespace = Math.floor(httpLimits.heldBytes / 2 / size);
    const begun = await Promise.all(
      Array.from({ length: mostOfNamespace }, async (_, n) => {
        const socket = connect(Number(new URL(server.base).port), "127.0.0.1").on("error", () => undefined);
        await new Promise<void>((sent) =>
          socket.write(`${head(keys[n < most ? "agent" : "colleague"] ?? "")}{"command":"${"x".repeat(size)}`, () =>
            sent(),
          ),
        );
        return socket;
      }),
    );
    const whole = `{"command":"${"x".repeat(size)}"}`;
    await vi.waitFor(() => expect(heldBytes()).toBeGreaterThan(mostOfNamespace * size), { timeout: 30_000 });
    expect((await post(exec, "agent", whole)).status).toBe(429);
    expect((await post(exec, "colleague", whole)).status).toBe(429);
    expect((await post(exec, "other", whole)).status).toBe(404);
    const small = '{"command":"true"}';
    expect((await post(exec, "agent", small)).status).toBe(404);
    expect(add.mock.calls.map(([, bytes]) => bytes)).not.toContain(small.length); // it came whole
    for (const socket of begun) socket.destroy();
    await vi.waitFor(async () => expect((await post(exec, "agent", whole)).status).toBe(404), { timeout: 30_000 });
    for (let n = 0; n < most + 1; n++) expect((await post(exec, "agent", whole)).status).toBe(404);
    const headers = { "x-api-key": keys.agent ?? "", "content-type": "application/json" };
    const request = { method: "POST", path: exec, headers, body: whole };
    const crowd = await Promise.all(Array.from({ length: 3 * most }, () => client.send(request, 60_000)));
    const statuses = crowd.map((answer) => answer?.status);
    expect(statuses).toContain(404); // some come through
    expect(statuses.filter((status) => status !== 404 && status !== 429)).toEqual([]);
  });
});
