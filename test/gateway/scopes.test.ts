import { describe, expect, it } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { Principal } from "../../packages/server/src/core/principal.ts";
import type { KeyScope } from "../../packages/server/src/core/scope.ts";
import type { ServerRecord } from "../../packages/server/src/core/server.ts";
import type { Message, Request } from "../../packages/server/src/gateway/message.ts";
import { openPipeline } from "../../packages/server/src/gateway/pipeline.ts";
import { noScanner } from "../../packages/server/src/gateway/scanner.ts";
import { type CallContext, change, judge, pass, refuse } from "../../packages/server/src/gateway/stage.ts";
import { allTools, type ToolPolicy } from "../../packages/server/src/gateway/tool-policy.ts";

const server = { id: "aaaaaaaaaaaaaaaa" } as ServerRecord;

function contextOf(scopes?: readonly KeyScope[], request?: Request): CallContext {
  const principal: Principal = { id: "k", name: "k", namespace: "n", role: "agent", ...(scopes && { scopes }) };
  const caller = { principal, requestId: "r" };
  return { caller, server, era: "legacy", ...(request && { request }) };
}

const request = (method: string, params: Record<string, unknown> = {}): Request => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params,
});
const call = (name: string) => request("tools/call", { name, arguments: {} });
const listed = (...names: string[]): Message => ({
  jsonrpc: "2.0",
  id: 1,
  result: { tools: names.map((name) => ({ name })) },
});

describe("the stages of the gateway", () => {
  const { toServer, toClient } = openPipeline({ policy: allTools, scanner: noScanner });

  it("[S130] let a key with scopes call the tools that they name, and list no others", async () => {
    const one = contextOf([`server:${server.id}:read`], request("tools/list"));
    expect(await judge(toServer, call("read"), one)).toEqual(call("read"));
    for (const name of ["write", "read ", "READ", "read\u0301", ""])
      await expect(judge(toServer, call(name), one)).rejects.toMatchObject({ code: "forbidden" });
    expect(await judge(toClient, listed("read", "write"), one)).toEqual(listed("read"));
    const all = contextOf([`server:${server.id}`], request("tools/list"));
    expect(await judge(toServer, call("write"), all)).toEqual(call("write"));
    expect(await judge(toClient, listed("read", "write"), all)).toEqual(listed("read", "write"));
    const other = contextOf(["server:bbbbbbbbbbbbbbbb", "use"]);
    await expect(judge(toServer, call("read"), other)).rejects.toMatchObject({ code: "forbidden" });
  });

  it("[S130] open nothing else to a key that is limited to tools", async () => {
    const one = contextOf([`server:${server.id}:read`]);
    for (const method of ["initialize", "ping", "tools/list", "logging/setLevel"])
      expect(await judge(toServer, request(method), one)).toEqual(request(method));
    for (const method of [
      "resources/read",
      "resources/list",
      "resources/subscribe",
      "prompts/get",
      "completion/complete",
    ])
      await expect(judge(toServer, request(method), one)).rejects.toMatchObject({ code: "forbidden" });
    const modern = { ...one, era: "modern" as const };
    const listen = (notifications: object) => request("subscriptions/listen", { notifications });
    expect(await judge(toServer, listen({ toolsListChanged: true }), modern)).toBeDefined();
    await expect(judge(toServer, listen({ resourceSubscriptions: ["a:b"] }), modern)).rejects.toThrow("may call tools");
  });

  it("[S130] refuse calls as tasks, and leave tasks out of what both sides declare", async () => {
    const task = request("tools/call", { name: "a", task: { ttl: 1 } });
    await expect(judge(toServer, task, contextOf())).rejects.toMatchObject({ code: "unsupported" });
    const opened = await judge(
      toServer,
      request("initialize", { capabilities: { tasks: {}, roots: {} } }),
      contextOf(),
    );
    expect(opened).toMatchObject({ params: { capabilities: { roots: {} } } });
    expect(JSON.stringify(opened)).not.toContain("tasks");
    const result = { capabilities: { tasks: {}, tools: {} } };
    const answer = await judge(
      toClient,
      { jsonrpc: "2.0", id: 1, result },
      contextOf(undefined, request("initialize")),
    );
    expect(answer).toEqual({ jsonrpc: "2.0", id: 1, result: { capabilities: { tools: {} } } });
  });

  it("[S130] refuse a list of more tools than a server may have", async () => {
    const many = listed(...Array.from({ length: 1_001 }, (_, at) => `t${at}`));
    await expect(judge(toClient, many, contextOf(undefined, request("tools/list")))).rejects.toMatchObject({
      code: "too_large",
    });
  });

  it("judge what the stage before has made of a message, by policy, scanner and human", async () => {
    const seen: unknown[] = [];
    const policy: ToolPolicy = {
      shows: (tool) => tool !== "hidden",
      judge: (_tool, _given, _context) => change(call("changed")),
    };
    const asked = openPipeline({
      policy,
      scanner: {
        scan: (message) => {
          seen.push(message);
          return pass;
        },
      },
      approve: () => ({ kind: "wait", answer: Promise.resolve(refuse(new AppError("forbidden", "a human said no"))) }),
    });
    await expect(judge(asked.toServer, call("first"), contextOf())).rejects.toThrow("a human said no");
    expect(seen).toEqual([call("changed")]);
    await expect(judge(asked.toServer, call("hidden"), contextOf())).rejects.toThrow("not allowed");
    const names = await judge(asked.toClient, listed("hidden", "shown"), contextOf(undefined, request("tools/list")));
    expect(names).toEqual(listed("shown"));
  });
});
