import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callText, connectTo, eventually, fixtureServer, type GatewayTest, openGateway } from "./fixture.ts";

const cases = (["legacy", "modern"] as const).flatMap((era) =>
  (["stdio", "http"] as const).map((transport) => ({ era, transport, hosted: fixtureServer(era, transport) })),
);

describe("the gateway", () => {
  let at: GatewayTest;
  let token: string;
  beforeAll(async () => {
    at = await openGateway(cases.map(({ hosted }) => hosted));
    token = await at.token();
  });
  afterAll(async () => {
    await at[Symbol.asyncDispose]();
    expect(at.server.errors).toEqual([]);
  });

  describe.each(cases)("between a $era client and a server over $transport", ({ era, hosted }) => {
    const open = (capabilities = {}) => connectTo(at.url(hosted), token, era, capabilities);

    it("[HOS-04] passes tools, resources, templates, prompts and completion", async () => {
      const client = await open();
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain("echo");
      expect(await callText(client, "echo", { text: "héllo \u{1f600}" })).toBe("héllo \u{1f600}");
      expect(await client.callTool({ name: "fail", arguments: {} })).toMatchObject({ isError: true });
      expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["test://watched"]);
      expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
        { uriTemplate: "test://made/{id}" },
      ]);
      const read = await client.readResource({ uri: "test://made/é" });
      expect(read.contents).toMatchObject([{ text: expect.stringContaining("made") }]);
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["greet"]);
      const { messages } = await client.getPrompt({ name: "greet", arguments: { city: "rome" } });
      expect(messages).toMatchObject([{ content: { text: "hello from rome" } }]);
      const ref = { type: "ref/prompt", name: "greet" } as const;
      const { completion } = await client.complete({ ref, argument: { name: "city", value: "pa" } });
      expect(completion.values).toEqual(["paris"]);
      await client.close();
    });

    it("[HOS-04] passes progress, and ends a call that its client cancels", async () => {
      const client = await open();
      const seen: number[] = [];
      const { content } = await client.callTool(
        { name: "slow", arguments: { steps: 3, stepMs: 5 } },
        { onprogress: ({ progress }) => void seen.push(progress) },
      );
      expect([seen, content]).toEqual([[1, 2, 3], [{ type: "text", text: "slow is over" }]]);
      const leaving = new AbortController();
      const call = client.callTool(
        { name: "slow", arguments: { steps: 500, stepMs: 20 } },
        { signal: leaving.signal, onprogress: () => leaving.abort() },
      );
      await expect(call).rejects.toThrow();
      await eventually(() => at.pool.leases()).toBe(0);
      await client.close();
    });

    it("[HOS-04] passes log messages of a call", async () => {
      const logged: unknown[] = [];
      const client = await connectTo(at.url(hosted), token, era, {}, (made) =>
        made.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params.data)),
      );
      const _meta = era === "modern" ? { "io.modelcontextprotocol/logLevel": "info" } : {};
      if (era === "legacy") await client.setLoggingLevel("info");
      await client.callTool({ name: "log", arguments: { text: "a line" }, _meta });
      await eventually(() => logged).toEqual(["a line"]);
      await client.close();
    });
  });

  describe.each(cases.filter(({ era }) => era === "legacy"))("in a session over $transport", ({ hosted }) => {
    it("[HOS-04] passes questions of the server: sampling, elicitation and roots", async () => {
      const seen: unknown[] = [];
      const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };
      let roots = [{ uri: "file:///first" }];
      const client = await connectTo(at.url(hosted), token, "legacy", capabilities, (made) => {
        made.setRequestHandler("sampling/createMessage", async ({ params }) => {
          seen.push(params.includeContext);
          return { model: "m", role: "assistant", content: { type: "text", text: "sampled" } };
        });
        made.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
        made.setRequestHandler("roots/list", async () => ({ roots }));
      });
      expect(await callText(client, "ask")).toBe("accept Ada");
      expect(JSON.parse(await callText(client, "sample"))).toMatchObject({ text: "sampled" });
      expect(seen).toEqual(["none"]);
      const known = async () => JSON.parse(await callText(client, "state")).roots;
      await eventually(known).toBe("file:///first");
      roots = [{ uri: "file:///second" }];
      await client.sendRootsListChanged();
      await eventually(known).toBe("file:///second");
      await client.close();
    });

    it("[HOS-04] passes subscriptions and their changes", async () => {
      const updated: string[] = [];
      const client = await connectTo(at.url(hosted), token, "legacy", {}, (made) =>
        made.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri)),
      );
      await client.subscribeResource({ uri: "test://watched" });
      expect(JSON.parse(await callText(client, "state")).subscribed).toEqual(["test://watched"]);
      await callText(client, "touch");
      await eventually(() => updated).toEqual(["test://watched"]);
      await client.unsubscribeResource({ uri: "test://watched" });
      expect(JSON.parse(await callText(client, "state")).subscribed).toEqual([]);
      await client.close();
    });
  });

  it.each([
    ["legacy", "modern", "2026-07-28"],
    ["modern", "legacy", "2025-11-25"],
  ] as const)("a %s client of a %s server is told which version it speaks", async (era, other, version) => {
    for (const { hosted } of cases.filter((one) => one.era === other))
      await expect(connectTo(at.url(hosted), token, era)).rejects.toThrow(version);
  });

  it("a client that negotiates finds out what a server speaks", async () => {
    for (const { era, hosted } of cases) {
      const client = await connectTo(at.url(hosted), token, "auto");
      expect(await callText(client, "echo", { text: era })).toBe(era);
      await client.close();
    }
  });
});
