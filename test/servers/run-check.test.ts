import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callerOf, callTool, deploy, openServers, type TestServers } from "./fixture.ts";

const caller = callerOf();

describe("the check of a version", () => {
  let service: TestServers;
  beforeAll(async () => {
    service = await openServers();
  }, 120_000);
  afterAll(() => service[Symbol.asyncDispose]());

  it("finds out how a server is spoken to: transport, path, port, revision", async () => {
    const found = async (words: readonly string[], config = {}) =>
      (await deploy(service, words, { name: words.join("-").replaceAll("--", ""), config })).contact;
    const http = { transport: "http", path: "/mcp", era: "legacy", protocolVersion: "2025-11-25", tools: 3 };
    const modern = { era: "modern", protocolVersion: "2026-07-28" };
    expect(await found(["a", "http", "--events"])).toEqual(http);
    expect(await found(["b", "http", "--root"])).toEqual({ ...http, path: "/" });
    expect(await found(["c", "http", "--modern"])).toEqual({ ...http, ...modern });
    expect(await found(["d", "http", "--port", "9000"], { port: 9_000 })).toEqual(http);
    expect(await found(["e", "stdio", "--modern"])).toEqual({ ...http, ...modern, transport: "stdio", path: "" });
    expect(await callTool(service, "label", {}, { name: "d-http-port-9000" })).toBe("d");
  }, 60_000);

  it("fails with the step and the reason, and a deploy of a broken build takes no calls", async () => {
    const failed = async (words: readonly string[]) => (await deploy(service, words, { name: "bad" })).error;
    expect(await failed(["broken"])).toBe("unpack: the archive is broken");
    expect(await failed(["x", "http", "--fail"])).toMatch(/^check: the program ended before it answered: exit code 3/);
    expect(await failed(["x", "file"])).toMatch(/^check: the server on port 8000 does not answer initialize/);
    expect(await failed(["x", "http", "--no-version"])).toMatch(/answers initialize without a protocol version/);
    expect(await failed(["x", "stdio", "--flood"])).toMatch(/sent more than \d+ bytes before it was ready/);
    expect(await failed(["x", "stdio", "--many"])).toMatch(/lists more than \d+ tools/);
    expect(await failed(["x", "stdio", "--endless"])).toMatch(/more than \d+ pages/);
    await expect(callTool(service, "label", {}, { name: "bad" })).rejects.toMatchObject({ code: "conflict" });
    expect((await service.servers.get(caller, "bad")).current).toBeNull();
    expect(service.fleet.ofServers().filter(({ labels }) => labels["server.use"] === "check")).toEqual([]);
    const failures = service.events.filter(({ type, data }) => type === "server.failed" && "name" in data);
    expect(failures.map(({ data }) => "step" in data && data.step)).toEqual(["unpack", ...Array(6).fill("check")]);
  }, 60_000);

  it("gets none of the build's egress, and the deploy none of the settings of a stranger", async () => {
    const config = { network: { allow: ["api.example.com"] } };
    await deploy(service, ["net", "http"], { name: "net", config });
    await callTool(service, "label", {}, { name: "net" });
    const { id } = await service.servers.get(caller, "net");
    const [sandbox] = service.fleet.ofServers().filter(({ serverId }) => serverId === id);
    const own = { ...caller, serverId: id };
    const allowed = () =>
      service.policies.sandboxPolicies(own, sandbox?.id ?? "").sandbox.allow.map(({ host }) => host);
    expect(allowed()).toEqual(["api.example.com"]);
    const network = { allow: ["other.example.com"] };
    const { restarted } = await service.servers.change(caller, "net", { network });
    expect([restarted, allowed()]).toEqual([false, ["other.example.com"]]);
    expect(await service.servers.change(caller, "net", { env: { A: "b" } })).toMatchObject({ restarted: true });
    expect(await callTool(service, "env", { name: "A" }, { name: "net" })).toBe("b");
    const agent = callerOf("default", "agent");
    await expect(service.servers.change(agent, "net", { network: { allow: ["x.example.com"] } })).rejects.toMatchObject(
      { code: "forbidden" },
    );
    const limits = { memoryBytes: 300 * 1024 ** 2 };
    expect((await service.servers.change(agent, "net", { limits })).restarted).toBe(false);
    expect((await service.fleet.get(own, sandbox?.id ?? "")).limits.memoryBytes).toBe(limits.memoryBytes);
    await expect(
      service.servers.change(agent, "net", { limits: { storageBytes: 6 * 1024 ** 3 } }),
    ).rejects.toMatchObject({ code: "conflict" });
  });
});
