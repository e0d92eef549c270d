import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { mcpLimits } from "../../packages/server/src/mcp-protocol/limits.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient } from "./client.ts";

const [engine = "container"] = engines;
const era = "2026-07-28";

interface Sent {
  resultType?: string;
  inputRequests?: Record<string, unknown>;
  requestState?: string;
  isError?: boolean;
  content?: unknown;
  structuredContent?: { stdout?: string };
}

describe("a call that waits for its client to come back with an answer", () => {
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    server = await openTestServer(engine, { commands: { ask: ["category:code"] } });
    client = await operator();
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const operator = () => connectClient(server, era, { role: "operator", capabilities: { elicitation: { form: {} } } });

  async function call(by: Client, code: string, retry: object = {}, session_id = "parked"): Promise<Sent> {
    const params = { name: "execute_code", arguments: { code, language: "shell", session_id }, ...retry };
    return (await by.callTool(params as never, { allowInputRequired: true } as never)) as Sent;
  }

  /** A call that was sent away with a question, and what its client should bring back. */
  async function park(code: string) {
    const sent = await call(client, code);
    expect(sent.resultType).toBe("input_required");
    const [question = ""] = Object.keys(sent.inputRequests ?? {});
    const inputResponses = { [question]: { action: "accept", content: { answer: "once" } } };
    return { requestState: sent.requestState ?? "", inputResponses };
  }

  it("[MCP-08] is the same run when it comes back, and is there once", async () => {
    const code = "echo $$ >> runs; wc -l < runs";
    const retry = await park(code);
    const result = await call(client, code, retry);
    expect(result.structuredContent).toMatchObject({ stdout: "1\n" });
    const again = await call(client, code, retry);
    expect(again.isError).toBe(true);
    expect(JSON.stringify(again.content)).toContain("no such call");
    const count = "wc -l < runs";
    expect((await call(client, count, await park(count))).structuredContent).toMatchObject({ stdout: "1\n" });
  });

  it("[MCP-08] is one of so many of a key: past that the question is left to an operator elsewhere", async () => {
    const own = await operator();
    // A sandbox has 16 questions that wait at most.
    const calls = Array.from({ length: mcpLimits.parkedPerKey }, (_, at) => ({
      code: `echo ${at}`,
      session_id: `full-${at % 4}`,
    }));
    for (const { code, session_id } of calls) {
      const sent = await call(own, code, {}, session_id);
      expect(sent.resultType, JSON.stringify(sent.content)).toBe("input_required");
    }
    const left = call(own, "echo left", {}, "full-0");
    const rest = await server.as("operator");
    const question = await vi.waitFor(
      async () => {
        const { json } = await rest.get("/api/v1/approvals?state=pending&limit=100");
        const found = json.find((one: { text: string }) => one.text.includes("echo left"));
        expect(found).toBeDefined();
        return found;
      },
      { timeout: 30_000 },
    );
    await rest.post(`/api/v1/approvals/${question.id}/decide`, { approve: true });
    expect((await left).structuredContent).toMatchObject({ stdout: "left\n" });
    await own.close();
  });

  it("[MCP-08] is nobody else's, no other call's, and not found by a changed state", async () => {
    const code = "echo mine";
    const retry = await park(code);
    const other = await operator();
    const agent = await connectClient(server, era, { role: "agent", capabilities: { elicitation: { form: {} } } });
    await expect(call(other, code, retry)).rejects.toThrow(/requestState/);
    await expect(call(agent, code, retry)).rejects.toThrow(/requestState/);
    const at = retry.requestState.length - 5;
    const letter = retry.requestState[at] === "A" ? "B" : "A";
    const changed = `${retry.requestState.slice(0, at)}${letter}${retry.requestState.slice(at + 1)}`;
    await expect(call(client, code, { ...retry, requestState: changed })).rejects.toThrow(/requestState/);
    expect((await call(client, "echo other", retry)).isError).toBe(true);
    expect((await call(client, code, retry)).structuredContent).toMatchObject({ stdout: "mine\n" });
    await Promise.all([other.close(), agent.close()]);
  });
});
