import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError, Caisson } from "../../packages/sdk/src/index.ts";
import { serverRoutes } from "../../packages/server/src/http/servers.ts";
import { engines } from "../harness.ts";
import { brokenPackage, MemoryServers } from "../http/memory-servers.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { downServer, type Seen, serverEndpoint } from "../http/server-endpoint.ts";
import { eras } from "../mcp/client.ts";

const [engine = "container"] = engines;
const source = { kind: "npm", package: "echo", version: "1.0.0" } as const;

async function collect<T>(from: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of from) found.push(one);
  return found;
}

async function openCaisson(server: TestServer, scopes?: readonly string[]): Promise<Caisson> {
  const { headers } = await server.as("operator", "default", scopes);
  return new Caisson({ url: server.base, key: headers["x-api-key"] as string });
}

describe("hosted servers by the SDK", () => {
  let server: TestServer;
  let caisson: Caisson;
  beforeAll(async () => {
    server = await openTestServer(engine);
    caisson = await openCaisson(server);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[API-05] are deployed from a package or an archive, with the log of the build", async () => {
    const { server: made, version } = await caisson.servers.deploy({ source, env: { MODE: "fast" }, rebuild: true });
    expect(made).toMatchObject({ name: "echo", config: { env: { MODE: "fast" } } });
    expect((await collect(caisson.servers.buildLog(made.id, version.number))).map(({ type }) => type)).toEqual([
      ...["step", "log", "end"],
    ]);
    const data = new Blob(["an archive"]).stream();
    const uploaded = await caisson.servers.deploy({ name: "up", source: { kind: "archive", data }, port: 9_000 });
    expect(server.hosted.uploads.get(uploaded.server.id)?.toString()).toBe("an archive");
    expect(uploaded.server.config.port).toBe(9_000);
    expect((await caisson.servers.list()).map(({ name }) => name)).toEqual(["up", "echo"]);
    const failed = await caisson.servers.deploy({ source: { kind: "pypi", package: brokenPackage } });
    const end = (await collect(caisson.servers.buildLog(brokenPackage, failed.version.number))).at(-1);
    expect(end).toMatchObject({ type: "end", state: "failed", step: "install" });
  });

  it("[API-05] are changed, watched, rolled back and deleted", async () => {
    const { servers } = caisson;
    await servers.deploy({ name: "all", source });
    await servers.deploy({ name: "all", source });
    expect(await servers.change("all", { env: { A: "1" } })).toMatchObject({ restarted: true });
    expect(await collect(servers.logs("all"))).toEqual(["first line\n", "second \u001b[2Jline\n"]);
    for await (const line of servers.logs("all", { follow: true })) {
      expect(line).toBe("first line\n");
      break;
    }
    expect((await servers.restart("all")).state).toBe("running");
    expect((await servers.stop("all")).state).toBe("stopped");
    expect((await servers.versions("all")).map(({ number }) => number)).toEqual([2, 1]);
    expect((await servers.version("all", 1)).resolved).toHaveLength(1);
    expect(await servers.diff("all", 1, 2)).toHaveLength(1);
    expect((await servers.rollback("all", 1)).number).toBe(1);
    expect((await servers.rollback("all", 1, { data: true })).number).toBe(1);
    expect((await servers.confirm("all", 1)).held).toBe(false);
    await servers.delete("all");
    await expect(servers.get("all")).rejects.toMatchObject({ code: "not_found" });
  });
});

describe.each(eras)("the tools of a hosted server of %s by the SDK", (era) => {
  let server: TestServer;
  let caisson: Caisson;
  const hosted = new MemoryServers();
  const seen: Seen = [];
  beforeAll(async () => {
    const stats = () => ({ calls: 0, errors: 0, p50Ms: null, p95Ms: null, p99Ms: null });
    const routes = serverRoutes({ servers: hosted, stats, origin: () => server.base });
    server = await openTestServer(engine, { routes: [...routes, ...serverEndpoint(era, seen)] });
    caisson = await openCaisson(server);
    await caisson.servers.deploy({ name: "tools", source });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[API-05] are listed and called through its endpoint, by name or id", async () => {
    const names = (await caisson.servers.tools("tools")).map(({ name }) => name);
    expect(names).toContain("test_simple_text");
    const { id } = await caisson.servers.get("tools");
    const result = await caisson.servers.call(id, "test_simple_text");
    expect(result.content).toMatchObject([{ type: "text" }]);
    expect(result.isError ?? false).toBe(false);
    expect(await caisson.servers.call(id, "test_error_handling")).toMatchObject({ isError: true });
  });

  it("[API-05] are each called once, whatever the handshake takes", async () => {
    seen.length = 0;
    await caisson.servers.call("tools", "test_simple_text");
    expect(seen.filter((method) => method === "tools/call")).toHaveLength(1);
  });

  it("refuse what they do not have, and questions that nobody can answer", async () => {
    await expect(caisson.servers.call("tools", "nothing")).rejects.toThrow(/nothing/);
    await expect(caisson.servers.call("nowhere", "test_simple_text")).rejects.toMatchObject({ code: "not_found" });
    const other = await openCaisson(server, ["use"]);
    const { id } = await caisson.servers.get("tools");
    const refusal = other.servers.tools(id);
    await expect(refusal).rejects.toBeInstanceOf(ApiError);
    await expect(refusal).rejects.toMatchObject({ code: "forbidden", status: 403 });
  });

  it("are not asked twice where the handshake is refused", async () => {
    seen.length = 0;
    await expect(caisson.servers.tools(downServer)).rejects.toMatchObject({ code: "unavailable", status: 503 });
    expect(seen).toEqual(["initialize"]);
  });

  it("are left when the caller gives up", async () => {
    const reason = new Error("no longer wanted");
    await expect(
      caisson.servers.call("tools", "test_simple_text", {}, { signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
  });
});
