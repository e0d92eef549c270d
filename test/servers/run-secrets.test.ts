import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

import { callerOf, callTool, deploy, openServers, readAll, type TestServers, uploadOf } from "./fixture.ts";

const operator = callerOf();
const agent = callerOf("default", "agent");
const value = "a-value-that-is-nowhere-else";

describe("the secrets of a hosted server", () => {
  let service: TestServers;
  beforeAll(async () => {
    service = await openServers();
    for (const name of ["TOKEN", "OTHER"]) await service.vault.put(operator, { name, value: Buffer.from(value) });
    const shared = { target: { all: true }, delivery: { as: "file" } } as const;
    await service.vault.bind(operator, "OTHER", shared);
    await service.vault.bind(operator, "OTHER", { ...shared, target: { keyId: operator.principal.id } });
  }, 120_000);
  afterAll(() => service[Symbol.asyncDispose]());
  const secret = (name: string, server = "made") => callTool(service, "secret", { name }, { name: server });

  it("[S121] are files of its own sandbox, and what is bound to all or to a key is not", async () => {
    await deploy(service, ["one", "http"], { config: { secrets: ["TOKEN"], env: { SAY: "hello" } } });
    expect(await secret("TOKEN")).toBe(value);
    expect(await secret("OTHER")).toBe("none");
    expect(await callTool(service, "env", { name: "SAY" })).toBe("hello");
    const names = await service.store.audit.search({ type: "sandbox.environment" });
    expect(names.map(({ detail }) => detail)).toContainEqual({ variables: "SAY" });
    expect(JSON.stringify(await service.store.audit.search({}))).not.toContain(value);
  });

  it("change at once in a server that runs: a new value, another secret, none", async () => {
    await service.vault.put(operator, { name: "TOKEN", value: Buffer.from("the-next-value") });
    expect(await secret("TOKEN")).toBe("the-next-value");
    const { restarted } = await service.servers.change(operator, "made", { secrets: ["OTHER"] });
    expect(restarted).toBe(false);
    expect(await secret("TOKEN")).toBe("none");
    expect(await secret("OTHER")).toBe(value);
    await service.servers.change(operator, "made", { secrets: [] });
    expect(await secret("OTHER")).toBe("none");
    await service.servers.change(operator, "made", { secrets: ["TOKEN"] });
  });

  it("[S121] stay away from a version of somebody who may not bind them, in its check too, until an operator confirms it", async () => {
    const version = await deploy(service, ["held", "http", "--say"], { caller: agent });
    expect(version).toMatchObject({ state: "ready", held: true });
    expect(await callTool(service, "label")).toBe("held");
    expect(await secret("TOKEN")).toBe("none");
    // Neither a change of secrets nor a restart brings them.
    await service.vault.put(operator, { name: "TOKEN", value: Buffer.from("the-third-value") });
    expect(await secret("TOKEN")).toBe("none");
    await service.servers.restart(agent, "made");
    expect(await secret("TOKEN")).toBe("none");
    const leaks = await deploy(service, ["leaks", "http", "--leak"], { caller: agent });
    expect(leaks).toMatchObject({ state: "failed", held: true });
    await expect(service.servers.confirm(agent, "made", version.number)).rejects.toMatchObject({ code: "forbidden" });
    await service.servers.confirm(operator, "made", version.number);
    expect(await secret("TOKEN")).toBe("the-third-value");
    expect(service.events.map(({ type }) => type)).toContain("server.confirmed");
  });

  it("[S121] stay away from a command or variables of somebody who may not bind them, also over a rollback", async () => {
    const forbidden = { code: "forbidden" };
    const env = { PYTHONPATH: "/data" };
    const command = ["sh", "-c", "cat /run/secrets/*"];
    for (const changes of [{ env }, { command }]) {
      await expect(service.servers.change(agent, "made", changes)).rejects.toMatchObject(forbidden);
      const held = deploy(service, ["other", "http"], { caller: agent, config: changes });
      await expect(held).rejects.toMatchObject(forbidden);
    }
    expect((await service.servers.get(agent, "made")).config).toMatchObject({ env: { SAY: "hello" }, command: null });
  });

  it("are unbound for good while a version that named them is made", async () => {
    const request = {
      name: "raced",
      source: { kind: "archive" },
      config: { image: "host", secrets: ["TOKEN"] },
    } as const;
    const { server } = await service.servers.deploy(operator, request, uploadOf(["raced", "http"]));
    await service.servers.change(operator, "raced", { secrets: [], network: { deny: ["denied.example.com"] } });
    await vi.waitFor(async () => expect((await service.servers.get(operator, "raced")).current).toBe(1), 60_000);
    const { config } = await service.servers.get(operator, "raced");
    expect([config.secrets, config.network]).toEqual([[], { deny: ["denied.example.com"] }]);
    await service.servers.delete(operator, server.id);
  });

  it("cannot be named by somebody who may not bind them, or where there is none", async () => {
    const secrets = ["TOKEN"];
    await expect(service.servers.change(agent, "made", { secrets: [] })).rejects.toMatchObject({ code: "forbidden" });
    await expect(
      deploy(service, ["x", "http"], { name: "new", caller: agent, config: { secrets } }),
    ).rejects.toMatchObject({
      code: "forbidden",
    });
    await expect(deploy(service, ["x", "http"], { name: "new", config: { secrets: ["NONE"] } })).rejects.toMatchObject({
      code: "not_found",
    });
    expect((await service.servers.list(operator)).map(({ name }) => name)).toEqual(["made"]);
  });

  it("[S121] that were unbound do not come back with a rollback, nor do other settings of then", async () => {
    await deploy(service, ["later", "http"]);
    await service.servers.change(operator, "made", { secrets: [], env: {}, network: {} });
    await service.servers.rollback(operator, "made", 1, { data: false });
    expect(await callTool(service, "label")).toBe("one");
    expect(await secret("TOKEN")).toBe("none");
    expect(await callTool(service, "env", { name: "SAY" })).toBe("");
  });

  it("are masked in the server's log, and in the log of its check", async () => {
    await service.servers.change(operator, "made", { secrets: ["TOKEN"] });
    const { signal } = new AbortController();
    const { version } = await service.servers.deploy(
      operator,
      { name: "made", source: { kind: "archive" }, config: {} },
      uploadOf(["says", "http", "--leak"]),
    );
    let log = "";
    for await (const message of service.servers.buildLog(operator, "made", version.number, signal))
      if (message.type === "log") log += message.data;
    expect(await callTool(service, "label")).toBe("says");
    const kept = await readAll(service.servers.logs(operator, "made", { follow: false, gone: signal }));
    for (const text of [log, kept]) {
      expect(text).toContain("it is ***REDACTED***");
      expect(text).not.toContain("the-third-value");
    }
  });
});
