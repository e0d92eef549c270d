import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serverLimits } from "../../packages/server/src/servers/limits.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { brokenPackage, MemoryServers } from "./memory-servers.ts";
import { allMessages } from "./messages.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const path = "/api/v1/servers";
const npm = { kind: "npm", package: "@scope/echo", version: "1.0.0" };

describe("hosted servers over REST", () => {
  let server: TestServer;
  let agent: Api;
  let operator: Api;
  const hosted = new MemoryServers();
  beforeAll(async () => {
    server = await openTestServer(engine, { hosted: { servers: hosted } });
    [agent, operator] = [await server.as("agent"), await server.as("operator")];
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  it("[HOS-01] are deployed from a package, and answer with id, endpoint and version", async () => {
    const { status, json, headers } = await agent.post(path, { source: npm });
    expect([status, headers.get("location")]).toEqual([202, `${path}/${json.server.id}`]);
    expect(json.server).toMatchObject({
      name: "echo",
      endpoint: `${server.base}/sandbox/${json.server.id}/mcp`,
      calls: { count: 0, errors: 0, p50_ms: null, p95_ms: null, p99_ms: null },
      config: { command: null, port: 8000, image: "mcp-runtime", memory_mb: 512, cpu_shares: 1024, max_processes: 256 },
    });
    expect(json.version).toMatchObject({ number: 1, source: { ...npm, url: null }, packages: 1, held: true });
    const again = await agent.post(path, { name: "echo", source: { kind: "pypi", package: "mcp-server-time" } });
    expect(again.json.server.id).toBe(json.server.id);
    expect(again.json.version).toMatchObject({ number: 2, source: { version: null } });
    expect((await agent.get(`${path}/echo`)).json.id).toBe(json.server.id);
    expect((await agent.get(path)).json.map(({ name }: { name: string }) => name)).toContain("echo");
  });

  it("[HOS-01] are uploaded as a stream, with their settings in the query", async () => {
    const archive = gzipSync("not read by this door");
    const config = { port: 9_000, env: { MODE: "fast" }, memory_mb: 1_024, rebuild: true };
    const query = new URLSearchParams({ name: "uploaded", config: JSON.stringify(config) });
    for (const type of ["application/gzip", "application/octet-stream"]) {
      const sent = { body: new Blob([archive]).stream(), headers: { "content-type": type } };
      const { status, json } = await agent.send("POST", `${path}?${query}`, sent);
      expect(status).toBe(202);
      expect(json.server.config).toMatchObject({ port: 9_000, env: { MODE: "fast" }, memory_mb: 1_024 });
      expect(json.version.source.kind).toBe("archive");
      expect(hosted.uploads.get(json.server.id)).toEqual(archive);
      expect(hosted.requests.at(-1)).toMatchObject({ rebuild: true });
    }
  });

  it.each([
    ["a name with a space", { source: npm, name: "a b" }, "body.name"],
    ["a name that begins with a dot", { source: npm, name: ".hidden" }, "body.name"],
    ["no source", {}, "body.source"],
    ["a source of another kind", { source: { kind: "folder", path: "/etc" } }, "body.source"],
    ["a URL of another scheme", { source: { kind: "remote", url: "file:///etc/passwd" } }, "body.source"],
    ["less memory than the range", { source: npm, memory_mb: 255 }, "body.memory_mb"],
    ["more processes than the range", { source: npm, max_processes: 513 }, "body.max_processes"],
    ["less storage than the range", { source: npm, storage_mb: 1_024 }, "body.storage_mb"],
    ["more CPU shares than the range", { source: npm, cpu_shares: 4_097 }, "body.cpu_shares"],
    ["a port past the last", { source: npm, port: 65_536 }, "body.port"],
    ["an empty command", { source: npm, command: [] }, "body.command"],
    ["a NUL in the command", { source: npm, command: ["a\0b"] }, "body.command.0"],
    ["what only an operator may set", { source: npm, user: "root" }, "user"],
  ])("are refused with %s", async (_, body, named) => {
    const { status, json } = await agent.post(path, body, { bad: true });
    expect([status, json.code]).toEqual([400, "invalid"]);
    expect(json.detail).toContain(named);
  });

  it("are refused where the settings of an upload are none, or stand in the wrong place", async () => {
    const upload = async (query: Record<string, string>) => {
      const answer = await agent.send("POST", `${path}?${new URLSearchParams(query)}`, { body: "x", bad: true });
      return [answer.status, answer.json.detail];
    };
    expect(await upload({ config: "{]" })).toEqual([400, "query.config is not JSON"]);
    expect(await upload({ config: '{"memory_mb":1}' })).toEqual([
      400,
      expect.stringContaining("query.config.memory_mb"),
    ]);
    expect(await upload({ config: '{"source":{}}' })).toEqual([400, expect.stringContaining("source")]);
    expect(await upload({ mount: "/etc" })).toEqual([400, expect.stringContaining("mount")]);
    const json = await agent.post(`${path}?name=other`, { source: npm }, { bad: true });
    expect([json.status, json.json.detail]).toEqual([400, "query.name is for uploads"]);
    const none = await agent.send("POST", path, { bad: true });
    expect([none.status, none.json.detail]).toEqual([400, "missing body"]);
  });

  it("[HOS-01] take no more than 250 MB", async () => {
    const piece = Buffer.alloc(1024 ** 2);
    let left = serverLimits.archiveBytes / piece.length + 1;
    const body = new ReadableStream({
      pull: (to) => (left-- > 0 ? to.enqueue(piece) : to.close()),
    });
    const { status, json } = await agent.send("POST", `${path}?name=large`, { body });
    expect([status, json.detail]).toEqual([413, expect.stringContaining(String(serverLimits.archiveBytes))]);
  });

  it("[HOS-10] change their settings, and say whether that restarted them", async () => {
    await operator.post(path, { name: "changed", source: npm, env: { A: "1" } });
    const one = `${path}/changed`;
    const change = async (body: object) => (await operator.send("PATCH", one, { json: body })).json;
    const network = { allow: ["api.github.com", { host: "10.0.0.1", port: 8080, ranges: ["10.0.0.0/24"] }] };
    expect(await change({ network, memory_mb: 2_048 })).toMatchObject({
      restarted: false,
      config: { network, memory_mb: 2_048, env: { A: "1" } },
    });
    expect(await change({ env: { B: "2" } })).toMatchObject({ restarted: true, config: { env: { B: "2" } } });
    expect(await change({ secrets: ["API_KEY"] })).toMatchObject({ config: { secrets: ["API_KEY"] } });
    expect(await change({ idle_timeout_seconds: 60, command: ["node", "a b.js"] })).toMatchObject({
      config: { idle_timeout_seconds: 60, command: ["node", "a b.js"], memory_mb: 2_048 },
    });
  });

  it("[HOS-10] get secrets from operators alone, and show variables to whoever may use them", async () => {
    const secrets = ["API_KEY"];
    for (const answer of [
      await agent.post(path, { source: npm, secrets }),
      await agent.send("POST", `${path}?config=${JSON.stringify({ secrets })}`, { body: "x" }),
      await agent.send("PATCH", `${path}/changed`, { json: { secrets: [] } }),
    ])
      expect([answer.status, answer.json.hint]).toEqual([403, "use a key with the role operator"]);
    expect((await agent.post(`${path}/changed/versions/1/confirm`)).status).toBe(403);
    expect((await operator.post(`${path}/changed/versions/1/confirm`)).json.held).toBe(false);
    const { config } = (await (await server.as("viewer")).get(`${path}/changed`)).json;
    expect(config).toMatchObject({ env: null, env_names: ["B"], secrets });
  });

  it("[HOS-03] show their versions, the log of a build, differences, and roll back", async () => {
    const made = (await agent.post(path, { name: "versions", source: npm })).json.server;
    await agent.post(path, { name: "versions", source: { kind: "npm", package: brokenPackage } });
    const at = `${path}/${made.id}`;
    const states = (await agent.get(`${at}/versions`)).json.map((one: { state: string }) => one.state);
    expect(states).toEqual(["failed", "ready"]);
    expect((await agent.get(at)).json).toMatchObject({ current: 1, newest: 2 });
    expect((await agent.get(`${at}/versions/1`)).json).toMatchObject({
      contact: { transport: "http", era: "legacy", protocol_version: "2025-11-25" },
      resolved: [{ manager: "pip", name: "mcp", version: "1.0.0", claimed: true }],
    });
    expect((await agent.get(`${at}/versions/3`)).status).toBe(404);
    const log = await allMessages(
      await agent.open("GET", `${at}/versions/2/log`, { headers: { accept: "application/x-ndjson" } }),
    );
    expect(log).toMatchObject([{ type: "step" }, { type: "log" }, { type: "end", state: "failed", step: "install" }]);
    expect((await agent.get(`${at}/diff?from=1&to=2`)).json).toEqual([
      { field: "source", from: "digest-1", to: "digest-2" },
    ]);
    expect((await agent.post(`${at}/versions/1/rollback`)).json.number).toBe(1);
    expect((await agent.post(`${at}/versions/1/rollback`, { data: true })).status).toBe(200);
  });

  it("[HOS-03] show their output, and follow it until the reader leaves", async () => {
    await agent.post(path, { name: "talks", source: npm });
    const headers = { accept: "application/x-ndjson" };
    const whole = await allMessages(await agent.open("GET", `${path}/talks/logs`, { headers }));
    expect(whole).toEqual([
      { type: "log", data: "first line\n" },
      { type: "log", data: "second \u001b[2Jline\n" },
      { type: "end" },
    ]);
    const followed = await agent.open("GET", `${path}/talks/logs?follow=true`, { headers });
    const reader = followed.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain("first line");
    await reader?.cancel();
    expect((await agent.open("GET", `${path}/nowhere/logs`, { headers })).status).toBe(404);
  });

  it("are restarted, stopped and deleted", async () => {
    await agent.post(path, { name: "short", source: npm });
    expect((await agent.post(`${path}/short/restart`)).json).toMatchObject({ state: "running", instances: 1 });
    expect((await agent.post(`${path}/short/stop`)).json).toMatchObject({ state: "stopped", instances: 0 });
    expect((await agent.delete(`${path}/short`)).status).toBe(204);
    expect((await agent.get(`${path}/short`)).status).toBe(404);
  });
});
