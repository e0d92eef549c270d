import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { callTool, deploy, makeServersHome, type ServersHome, type TestServers } from "./fixture.ts";

describe.each(engines)("a hosted server on %s", (engine) => {
  let home: ServersHome;
  let service: TestServers;
  beforeAll(async () => {
    home = await makeServersHome(engine);
    service = await home.open();
  });
  afterAll(async () => {
    for (const { id } of service.serverBook.all()) await service.servers.delete(allOf(id), id);
    await service[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });
  const allOf = (id: string) => {
    const namespace = service.serverBook.byId(id)?.namespace ?? "";
    return { principal: { id: "x", name: "x", namespace, role: "operator" }, requestId: "" } as const;
  };

  it("answers over HTTP once its first version has passed its check", async () => {
    const version = await deploy(service, ["one", "http"]);
    expect(version).toMatchObject({ state: "ready", error: null, held: false });
    expect(version.contact).toMatchObject({ transport: "http", path: "/mcp", era: "legacy", tools: 3 });
    expect(await callTool(service, "label")).toBe("one");
    expect(await callTool(service, "count")).toBe("1");
  });
});
