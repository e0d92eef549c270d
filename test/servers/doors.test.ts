import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { enginesOfServers, madeBuilder } from "./fixture.ts";

describe.each(enginesOfServers)("hosted servers from deploy to call on %s", (engine) => {
  let server: TestServer;
  let caisson: Caisson;
  beforeAll(async () => {
    server = await openTestServer(engine, {
      versionBuilder: (layers) => madeBuilder(layers, { id: undefined }, []),
      network: { enabled: true },
    });
    caisson = await as();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const as = async (scopes?: readonly string[]) => {
    const { headers } = await server.as("operator", "default", scopes);
    return new Caisson({ url: server.base, key: headers["x-api-key"] as string });
  };
  const deploy = async (words: readonly string[], name = "made") => {
    const data = new Blob([JSON.stringify(words)]).stream();
    const made = await caisson.servers.deploy({ name, source: { kind: "archive", data }, image: "host" });
    const log = [];
    for await (const message of caisson.servers.buildLog(made.server.id, made.version.number)) log.push(message);
    return { ...made, log };
  };

  it.each([
    ["http", []],
    ["http", ["--modern"]],
    ["stdio", []],
    ["stdio", ["--modern"]],
  ])("[HOS-01] over %s %s are deployed, listed and called", async (way, flags) => {
    const name = `made-${way}${flags.join("")}`;
    const { server: made, log } = await deploy(["one", way, ...flags], name);
    expect(log.at(-1)).toMatchObject({ type: "end", state: "ready" });
    expect((await caisson.servers.tools(made.id)).map((one) => one.name)).toEqual(["label", "count", "list"]);
    expect((await caisson.servers.call(name, "label")).content).toEqual([{ type: "text", text: "one" }]);
    const shown = await caisson.servers.get(name);
    expect(shown).toMatchObject({ state: "running", instances: 1, current: 1, calls: { count: 1, errors: 0 } });
    expect((await caisson.servers.stop(name)).state).toBe("stopped");
    expect((await caisson.servers.call(name, "count")).content).toEqual([{ type: "text", text: "1" }]);
    await caisson.servers.delete(name);
  });

  it("[S140] are reached by a key for them alone, with S0's headers", async () => {
    const { server: made } = await deploy(["one", "http"], "scoped");
    const { server: other } = await deploy(["two", "http"], "other");
    for (const [scope, tools] of [
      [`server:${made.id}`, ["label", "count", "list"]],
      [`server:${made.id}:label`, ["label"]],
    ] as const) {
      const one = await as([scope]);
      expect((await one.servers.tools(made.id)).map(({ name }) => name)).toEqual(tools);
      expect((await one.servers.call(made.id, "label")).content).toEqual([{ type: "text", text: "one" }]);
      await expect(one.servers.call(other.id, "label")).rejects.toThrow();
      await expect(one.servers.list()).rejects.toMatchObject({ code: "forbidden" });
    }
    await expect((await as([`server:${made.id}:label`])).servers.call(made.id, "count")).rejects.toThrow();
    const { headers } = await server.as("agent", "default", [`server:${made.id}`]);
    const client = new Client({ name: "s0", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(made.endpoint), { requestInit: { headers } }));
    expect((await client.callTool({ name: "label" })).content).toEqual([{ type: "text", text: "one" }]);
    await client.close();
    const user = await as(["read", "use"]);
    await user.servers.delete("other");
    await user.servers.delete("scoped");
  });

  it("[HOS-03] have versions, differences, logs and a way back", async () => {
    await deploy(["one", "http", "--say"], "versions");
    expect((await deploy(["broken"], "versions")).log.at(-1)).toMatchObject({ type: "end", state: "failed" });
    await deploy(["three", "http", "--say"], "versions");
    const { servers } = caisson;
    expect((await servers.versions("versions")).map(({ number, state }) => [number, state])).toEqual([
      [3, "ready"],
      [2, "failed"],
      [1, "ready"],
    ]);
    expect((await servers.diff("versions", 1, 3)).length).toBeGreaterThan(0);
    expect((await servers.call("versions", "label")).content).toEqual([{ type: "text", text: "three" }]);
    await servers.rollback("versions", 1);
    expect((await servers.call("versions", "label")).content).toEqual([{ type: "text", text: "one" }]);
    const lines: string[] = [];
    for await (const line of servers.logs("versions")) lines.push(line);
    expect(lines.join("")).toContain("a line of three");
    expect(await servers.change("versions", { env: { SAY: "this" } })).toMatchObject({ restarted: true });
    expect(await servers.change("versions", { memory_mb: 1024 })).toMatchObject({
      restarted: false,
      config: { memory_mb: 1024, env: { SAY: "this" } },
    });
    await servers.restart("versions");
    await servers.delete("versions");
    await expect(servers.get("versions")).rejects.toMatchObject({ code: "not_found" });
  });
});
