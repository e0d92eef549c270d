import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { FileChanges } from "../../packages/server/src/mcp/file-changes.ts";
import { mcpLimits } from "../../packages/server/src/mcp-protocol/limits.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { connectClient, type Era, eras } from "./client.ts";

describe.each(engines)("files that a client subscribed to, on %s", (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 20 });

  /** A client with a session that has its sandbox, and the changes it is told of. */
  async function open(era: Era, namespace: string) {
    const client = await connectClient(server, era, { namespace });
    const told: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const run = async (code: string) => {
      const { structuredContent } = await client.callTool({
        name: "execute_code",
        arguments: { code, language: "shell" },
      });
      return structuredContent as { session_id: string; sandbox_id: string };
    };
    const { session_id, sandbox_id } = await run("mkdir -p data; echo 1 > data/a; echo 1 > b");
    const uriOf = (path: string) => `caisson://${session_id}/${path}`;
    return { client, told, run, uriOf, sandboxId: sandbox_id };
  }

  /** Returns which of them are honoured, and what ends it. */
  async function subscribe(client: Client, era: Era, uris: string[]) {
    if (era === "2026-07-28") {
      const listening = await client.listen({ resourceSubscriptions: uris });
      return { honoured: listening.honoredFilter.resourceSubscriptions ?? [], end: () => listening.close() };
    }
    const honoured: string[] = [];
    for (const uri of uris)
      await client.subscribeResource({ uri }).then(
        () => honoured.push(uri),
        () => undefined,
      );
    return {
      honoured,
      end: async () => {
        for (const uri of honoured) await client.unsubscribeResource({ uri });
      },
    };
  }

  it("leave room for other namespaces, however many one has", async () => {
    await using changes = new FileChanges(server, () => undefined);
    const callerIn = (namespace: string) => ({
      principal: { id: namespace, name: namespace, namespace, role: "agent" as const },
      requestId: namespace,
    });
    const [many, one] = [callerIn("many"), callerIn("one")];
    for (const caller of [many, one]) await server.fleet.create(caller, { sessionKey: "own" });
    const follow = (caller: typeof many, path: string | number) => changes.follow(caller, `caisson://own/${path}`);
    const ends = [];
    for (let at = 0; at < mcpLimits.subscriptionsPerNamespace; at++) ends.push(await follow(many, at));
    await expect(follow(many, "more")).rejects.toMatchObject({ code: "limit_exceeded" });
    ends.push(await follow(one, "a"));
    ends[0]?.();
    ends.push(await follow(many, "more"));
    for (const end of ends) end();
  });

  it.each(eras)("[MCP-04] are told of when they change, to clients of %s, until they want no more", async (era) => {
    const { client, told, run, uriOf } = await open(era, `changes-${era}`);
    const { honoured, end } = await subscribe(client, era, [uriOf("data/a"), uriOf("later"), uriOf("quiet")]);
    expect(honoured).toHaveLength(3);
    await run("echo 2 > b");
    await run("echo 2 > data/a");
    await until(() => expect(new Set(told)).toEqual(new Set([uriOf("data/a")])));
    await run("echo 1 > later");
    await until(() => expect(told).toContain(uriOf("later")));
    told.splice(0);
    await run("mv data gone");
    await until(() => expect(told).toContain(uriOf("data/a")));
    await end();
    const other = await subscribe(client, era, [uriOf("b")]);
    await run("echo 3 > quiet; echo 3 > b");
    await until(() => expect(told).toContain(uriOf("b")));
    expect(told).not.toContain(uriOf("quiet"));
    await other.end();
    await client.close();
  });

  it.each(eras)(
    "[MCP-04] stand beside the listed resources, which are followed by clients of %s as well",
    async (era) => {
      const { client, told, run } = await open(era, `fixed-${era}`);
      const other = await open(era, `fixed-other-${era}`);
      const fixed = ["sandbox://status", "sandbox://logs", "sandbox://schemas"];
      const { honoured, end } = await subscribe(client, era, fixed);
      expect(new Set(honoured)).toEqual(new Set(fixed));
      await other.run("true");
      await other.client.close();
      await run("true");
      await until(() => expect(new Set(told)).toEqual(new Set(fixed.slice(0, 2))));
      await end();
      const resources = await client.listResources();
      expect(resources.resources.find(({ uri }) => uri === "sandbox://schemas")?.description).toContain(
        "do not change",
      );
      await client.close();
    },
  );

  it.each(eras)("[MCP-04] are nobody else's, to clients of %s", async (era) => {
    const own = await open(era, `own-${era}`);
    const other = await open(era, `other-${era}`);
    const mine = await subscribe(own.client, era, [own.uriOf("b")]);
    const wanted = [`caisson://${own.sandboxId}/b`, "caisson://nobody/b", "caisson://x"];
    const theirs = await subscribe(other.client, era, [other.uriOf("b"), ...wanted]);
    expect(theirs.honoured).toEqual([other.uriOf("b")]);
    await own.run("echo 2 > b");
    await until(() => expect(own.told).toContain(own.uriOf("b")));
    expect(other.told).toEqual([]);
    await other.run("echo 2 > b");
    await until(() => expect(other.told).toContain(other.uriOf("b")));
    expect(new Set([...own.told, ...other.told])).toEqual(new Set([own.uriOf("b"), other.uriOf("b")]));
    await Promise.all([mine.end(), theirs.end()]);
    await Promise.all([own.client.close(), other.client.close()]);
  });

  it.each(eras)("[MCP-04] end with their sandbox, to clients of %s", async (era) => {
    const { client, told, uriOf, sandboxId } = await open(era, `ended-${era}`);
    await subscribe(client, era, [uriOf("b")]);
    const operator = await server.as("operator", `ended-${era}`);
    await operator.delete(`/api/v1/sandboxes/${sandboxId}`);
    await until(() => expect(told).toContain(uriOf("b")));
    await client.close();
  });
});
