import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, eras } from "./client.ts";
import { accept, connectQuestionedClient } from "./questioned-client.ts";

const [engine = "container"] = engines;

describe("questions to humans, over MCP", () => {
  let server: TestServer;
  let operator: Api;
  beforeAll(async () => {
    server = await openTestServer(engine, { commands: { ask: ["touch *", "category:code"] } });
    operator = await server.as("operator");
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const pending = async () =>
    (await operator.get("/api/v1/approvals?state=pending")).json as { id: string; text: string; sandbox_id: string }[];
  const run = (client: Client, code: string, session_id: string) =>
    client.callTool({ name: "execute_code", arguments: { code, language: "shell", session_id } });
  const find = (text: string) =>
    vi.waitFor(
      async () => {
        const found = (await pending()).find((one) => one.text === text);
        if (found === undefined) throw new Error(`nobody asks for ${text}`);
        return found;
      },
      { timeout: 30_000, interval: 20 },
    );

  describe.each(eras)("to a client of %s", (era) => {
    const session = `asked-${era}`;

    it("[MCP-08] are put to the user of an operator's client, and what was asked for goes on with the answer", async () => {
      await using user = await connectQuestionedClient(server, era, "operator", () =>
        accept("once", { reason: "fine" }),
      );
      const { structuredContent } = await run(user.client, "echo yes-\u202e$((1 + 1))", session);
      expect(structuredContent).toMatchObject({ exit_code: 0, stdout: "yes-\u202e2\n" });
      expect(user.asked).toMatchObject([{ options: ["once", "sandbox", "always", "deny"] }]);
      expect(user.asked[0]?.message).toContain("echo yes-\\u{202e}$((1 + 1))");
      const { json } = await operator.get("/api/v1/approvals?limit=1");
      expect(json).toMatchObject([
        { state: "approved", scope: "once", reason: "fine", decided_by: expect.any(String) },
      ]);
    });

    it("[MCP-08] hold for the sandbox when the user says so, and are not put again", async () => {
      await using user = await connectQuestionedClient(server, era, "operator", () => accept("sandbox"));
      for (const _ of [1, 2]) {
        const { structuredContent } = await run(user.client, "echo again", session);
        expect(structuredContent).toMatchObject({ exit_code: 0 });
      }
      expect(user.asked).toHaveLength(1);
    });

    it("[MCP-08] refuse with the user's reason", async () => {
      await using user = await connectQuestionedClient(server, era, "operator", () =>
        accept("deny", { reason: "not that" }),
      );
      const { isError, content } = await run(user.client, "echo no", session);
      expect(isError).toBe(true);
      expect(JSON.stringify(content)).toContain("denied by a human: not that");
    });

    it("[MCP-08] stay open for an operator elsewhere when the user does not decide, or answers what was not offered", async () => {
      for (const answer of [{ action: "decline" }, { action: "cancel" }, accept("forever"), accept("")]) {
        const code = `echo ${JSON.stringify(answer).length}-${era}`;
        await using user = await connectQuestionedClient(server, era, "operator", () => answer);
        const result = run(user.client, code, session);
        await vi.waitFor(() => expect(user.asked).toHaveLength(1), { timeout: 30_000 });
        const { id } = await find(code);
        await operator.post(`/api/v1/approvals/${id}/decide`, { approve: true });
        expect((await result).structuredContent).toMatchObject({ exit_code: 0 });
      }
    });

    it("[MCP-08] are not put to the client of an agent's key, which must not approve its own request", async () => {
      await using user = await connectQuestionedClient(server, era, "agent", () => accept("always"));
      const code = `echo agent-${era}`;
      const result = run(user.client, code, session);
      const { id } = await find(code);
      await operator.post(`/api/v1/approvals/${id}/decide`, { approve: false });
      expect((await result).isError).toBe(true);
      expect(user.asked).toEqual([]);
    });

    it("[MCP-08] are not put to a client that has no way to ask", async () => {
      const client = await connectClient(server, era, { role: "operator" });
      const code = `echo mute-${era}`;
      const result = run(client, code, session);
      await operator.post(`/api/v1/approvals/${(await find(code)).id}/decide`, { approve: true });
      expect((await result).structuredContent).toMatchObject({ exit_code: 0 });
      await client.close();
    });

    it("[MCP-08] are put to the user when the agent asks for a name, whose call waits for the answer", async () => {
      const answers = [accept("sandbox"), accept("deny", { reason: "no" }), { action: "decline" }];
      await using user = await connectQuestionedClient(server, era, "operator", () => answers.shift() ?? {});
      const ask = async (domain: string) => {
        const { structuredContent } = await user.client.callTool({
          name: "request_egress",
          arguments: { domain, session_id: session },
        });
        return structuredContent;
      };
      expect(await ask("yes.example.com")).toMatchObject({ state: "approved", scope: "sandbox" });
      expect(await ask("no.example.com")).toMatchObject({ state: "denied", reason: "no" });
      expect(await ask("later.example.com")).toMatchObject({ state: "pending" });
      expect(user.asked.map(({ options }) => options)).toEqual(Array(3).fill(["sandbox", "always", "deny"]));
    });

    it("[MCP-08] are put to the user of the call that waits for them, and to nobody else", async () => {
      await using one = await connectQuestionedClient(server, era, "operator", () => accept("once"));
      await using other = await connectQuestionedClient(server, era, "operator", () => accept("once"));
      const results = await Promise.all([
        run(one.client, `echo one-${era}`, `${session}-1`),
        run(other.client, `echo other-${era}`, `${session}-2`),
      ]);
      expect(results.map(({ isError = false }) => isError)).toEqual([false, false]);
      expect(one.asked.map(({ message }) => message.includes("echo one-"))).toEqual([true]);
      expect(other.asked.map(({ message }) => message.includes("echo other-"))).toEqual([true]);
    });
  });
});
