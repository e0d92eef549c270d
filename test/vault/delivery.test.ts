import { describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { placeholderPattern } from "../../packages/server/src/core/secret.ts";
import { makeHome, type TestFleet, until } from "../fleet/fixture.ts";
import { engines } from "../harness.ts";
import { filesWith } from "./fixture.ts";

const caller = (role: Role, id: string): Caller => ({
  principal: { id, name: id, namespace: "alice", role },
  requestId: "request",
});
const operator = caller("operator", "key-operator");
const agent = caller("agent", "key-agent");

const everywhere = { target: { all: true }, delivery: { as: "env", variable: "TOKEN" } } as const;

/** What a run finds in its environment, as numbers: output is not what is looked at here. */
async function environmentOf({ fleet }: TestFleet, id: string, variable = "TOKEN"): Promise<string> {
  const command = `printf %s "$${variable}" | od -An -v -tu1`;
  const { stdout } = await fleet.use(agent, id, (sandbox) => sandbox.exec({ command }));
  return Buffer.from(stdout.trim().split(/\s+/).filter(Boolean).map(Number)).toString();
}

async function secretOf({ vault }: TestFleet, text: string, name = "API_KEY"): Promise<void> {
  await vault.put(operator, { name, value: Buffer.from(text) });
}

describe.each(engines)("a secret that is bound (%s)", (engine) => {
  it("[SEC-03] is there in a cold start, in one from the pool, after a stop, and under the next daemon", async () => {
    await using home = await makeHome();
    const value = "v4lue-that-is-bound";
    let pooled = "";
    {
      await using test = await home.open({ engine, poolSize: 1 });
      await secretOf(test, value);
      await test.vault.bind(operator, "API_KEY", everywhere);
      await until(() => test.fleet.pools().some(({ ready }) => ready === 1));
      pooled = (await test.fleet.create(agent, { env: { PLAIN: "seen" } })).record.id;
      expect((await test.fleet.get(agent, pooled)).origin).toBe("pool");
      expect(await environmentOf(test, pooled)).toBe(value);
      expect(await environmentOf(test, pooled, "PLAIN")).toBe("seen");
      const cold = (await test.fleet.create(agent, { warm: "never" })).record;
      expect(cold.origin).toMatch(/^cold/);
      expect(await environmentOf(test, cold.id)).toBe(value);
      await test.fleet.stop(agent, cold.id);
      await test.fleet.start(agent, cold.id);
      expect(await environmentOf(test, cold.id)).toBe(value);
      await test.fleet.destroy(agent, cold.id);
      expect(test.errors).toEqual([]);
    }
    await using test = await home.open({ engine });
    expect((await test.fleet.get(agent, pooled)).status).toBe("running");
    expect(await environmentOf(test, pooled)).toBe(value);
    expect(await filesWith(home.home, Buffer.from(value))).toEqual([]);
    await test.fleet.destroy(agent, pooled);
  });

  it("[SEC-03] comes to a sandbox that runs, changes with its value, and goes when it is unbound", async () => {
    await using home = await makeHome();
    await using test = await home.open({ engine });
    const { fleet, vault } = test;
    const [one, other] = [(await fleet.create(agent, {})).record.id, (await fleet.create(agent, {})).record.id];
    await secretOf(test, "first value");
    const target = { sandboxId: one };
    const bound = await vault.bind(operator, "API_KEY", { ...everywhere, target });
    expect(await environmentOf(test, one)).toBe("first value");
    expect(await environmentOf(test, other)).toBe("");
    await secretOf(test, "second value");
    expect(await environmentOf(test, one)).toBe("second value");
    await fleet.pause(agent, one);
    await vault.unbind(operator, "API_KEY", bound.bindings[0]?.id ?? "");
    await fleet.resume(agent, one);
    expect(await environmentOf(test, one)).toBe("");
    await fleet.stop(agent, one);
    const { stdout } = await fleet.use(agent, one, (sandbox) => sandbox.exec({ command: "echo second value" }));
    expect(stdout, "what it had is still hidden").toBe("***REDACTED***\n");
    await vault.bind(operator, "API_KEY", { ...everywhere, target });
    expect(await environmentOf(test, one)).toBe("second value");
    await vault.delete(operator, "API_KEY");
    expect(await environmentOf(test, one)).toBe("");
    expect(test.errors).toEqual([]);
    for (const id of [one, other]) await fleet.destroy(agent, id);
  });
});

const [engine = "container"] = engines;

describe("who gets a secret", () => {
  it("[NET-12] as a header is a placeholder of its own in each sandbox, the same over a restart of the daemon", async () => {
    await using home = await makeHome();
    const hosts = ["api.example.com"];
    const value = "the real token of the api";
    let id = "";
    let placeholder = "";
    {
      await using test = await home.open({ engine });
      await secretOf(test, value);
      await test.vault.bind(operator, "API_KEY", {
        target: { all: true },
        delivery: { as: "header", header: "Authorization", hosts, format: "Bearer {}", variable: "TOKEN" },
      });
      id = (await test.fleet.create(agent, {})).record.id;
      const other = (await test.fleet.create(agent, {})).record.id;
      placeholder = await environmentOf(test, id);
      expect(placeholder).toMatch(placeholderPattern);
      expect(await environmentOf(test, other)).not.toBe(placeholder);
      expect(await test.vault.reveal(other, placeholder, "api.example.com")).toBeUndefined();
      expect(await test.vault.heldPlain(id)).toBe(false);
      await test.fleet.destroy(agent, other);
    }
    await using test = await home.open({ engine });
    expect(await environmentOf(test, id)).toBe(placeholder);
    expect(test.vault.placeholders(id)).toMatchObject([
      { placeholder, header: "Authorization", format: "Bearer {}", hosts },
    ]);
    expect((await test.vault.reveal(id, placeholder, "api.example.com"))?.toString()).toBe(value);
    expect(await test.vault.reveal(id, placeholder, "evil.example.com")).toBeUndefined();
    const seen = await test.store.audit.search({ type: "vault.accessed", text: "api.example.com" });
    expect(seen).toMatchObject([
      { sandboxId: id, detail: { secret: "API_KEY", as: "header", host: "api.example.com" } },
    ]);
    await test.fleet.destroy(agent, id);
  });

  it("[SEC-09] is not for an agent to choose: labels, sessions, names and variables of its own bring none", async () => {
    await using home = await makeHome();
    await using test = await home.open({ engine });
    const { fleet, vault } = test;
    await secretOf(test, "for one key only");
    await vault.bind(operator, "API_KEY", { ...everywhere, target: { keyId: "key-trusted" } });
    const trusted = (await fleet.create(caller("agent", "key-trusted"), {})).record.id;
    expect(await environmentOf(test, trusted)).toBe("for one key only");
    const env = { API_KEY: "mine", SECRET: "API_KEY" };
    const labels = { key_id: "key-trusted", secret: "API_KEY" };
    const own = (await fleet.create(agent, { env, labels, sessionKey: "key-trusted" })).record.id;
    expect(await environmentOf(test, own)).toBe("");
    await fleet.change(agent, own, { labels: { createdBy: "key-trusted" } });
    await fleet.stop(agent, own);
    expect(await environmentOf(test, own)).toBe("");
    await vault.bind(operator, "API_KEY", { ...everywhere, target: { sandboxId: own } });
    expect(await environmentOf(test, own)).toBe("for one key only");
    for (const id of [trusted, own]) await fleet.destroy(agent, id);
    expect((await vault.get(operator, "API_KEY")).bindings).toMatchObject([{ target: { keyId: "key-trusted" } }]);
  });

  it("[SEC-07] [SEC-04] is in the log: who, which and where, and never the value; plain variables by name", async () => {
    await using home = await makeHome();
    await using test = await home.open({ engine });
    const { fleet, vault, store } = test;
    await secretOf(test, "a value for the log");
    await vault.bind(operator, "API_KEY", everywhere);
    const { id } = (await fleet.create(agent, { env: { PLAIN_B: "plain value", PLAIN_A: "x" } })).record;
    await fleet.stop(agent, id);
    await fleet.start(caller("agent", "key-other"), id);
    const accessed = await store.audit.search({ type: "vault.accessed", sandboxId: id, after: 0 });
    expect(accessed.map(({ actor, detail }) => ({ actor, ...detail }))).toMatchObject([
      { actor: "key-agent", secret: "API_KEY", version: 1, as: "env", variable: "TOKEN" },
      { actor: "key-other", secret: "API_KEY", version: 1, as: "env", variable: "TOKEN" },
    ]);
    const plain = await store.audit.search({ type: "sandbox.environment", sandboxId: id });
    expect(plain.map(({ detail }) => detail)).toEqual([
      { variables: "PLAIN_A PLAIN_B" },
      { variables: "PLAIN_A PLAIN_B" },
    ]);
    expect(test.events.filter(({ type }) => type === "vault.accessed")).toMatchObject([
      { sandbox_id: id, data: { secret: "API_KEY", as: "env" } },
      { sandbox_id: id, data: { secret: "API_KEY", as: "env" } },
    ]);
    const types = (await store.audit.search({ namespace: "alice" })).map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(["secret.put", "secret.bound"]));
    expect(JSON.stringify([await store.audit.search({}), test.events])).not.toContain("a value for the log");
    await fleet.destroy(agent, id);
  });

  it("[SEC-08] ends with its time, in sandboxes that run too, and its value is destroyed", async () => {
    await using home = await makeHome();
    await using test = await home.open({ engine });
    const { fleet, vault } = test;
    await secretOf(test, "never ends", "OTHER");
    await vault.bind(operator, "OTHER", { target: { all: true }, delivery: { as: "env", variable: "OTHER" } });
    const { id } = (await fleet.create(agent, {})).record;
    const value = Buffer.from("ends soon");
    await vault.put(operator, { name: "API_KEY", value, expiresAtMs: Date.now() + 3_600_000 });
    await vault.bind(operator, "API_KEY", everywhere);
    expect(await environmentOf(test, id)).toBe("ends soon");
    await vault.put(operator, { name: "API_KEY", value, expiresAtMs: Date.now() + 200 });
    await until(async () => (await environmentOf(test, id)) === "");
    expect(await vault.get(operator, "API_KEY")).toMatchObject({ state: "expired", bindings: [{}] });
    expect(await test.store.secrets.get("alice", "API_KEY")).toMatchObject({ sealed: "", wrappedKey: "" });
    expect(await environmentOf(test, id, "OTHER")).toBe("never ends");
    await secretOf(test, "its next value");
    expect(await environmentOf(test, id)).toBe("its next value");
    await fleet.destroy(agent, id);
  });

  it("[SEC-08] of one use is one sandbox, which keeps it over a restart; its value goes with that one", async () => {
    await using home = await makeHome();
    let first = "";
    {
      await using test = await home.open({ engine });
      await test.vault.put(operator, { name: "API_KEY", value: Buffer.from("once only"), uses: 1 });
      await test.vault.bind(operator, "API_KEY", everywhere);
      first = (await test.fleet.create(agent, {})).record.id;
      const second = (await test.fleet.create(agent, {})).record.id;
      expect(await environmentOf(test, first)).toBe("once only");
      expect(await environmentOf(test, second)).toBe("");
      await test.fleet.destroy(agent, second);
    }
    await using test = await home.open({ engine });
    expect(await environmentOf(test, first)).toBe("once only");
    expect(await test.vault.get(operator, "API_KEY")).toMatchObject({ state: "spent", usesLeft: 0 });
    await test.fleet.destroy(agent, first);
    expect(await test.store.secrets.get("alice", "API_KEY")).toMatchObject({ sealed: "" });
    const third = (await test.fleet.create(agent, {})).record.id;
    expect(await environmentOf(test, third)).toBe("");
    await test.fleet.destroy(agent, third);
  });
});
