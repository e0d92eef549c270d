import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { makeHome } from "../fleet/fixture.ts";
import { engines } from "../harness.ts";
import { filesWith } from "./fixture.ts";

const operator: Caller = {
  principal: { id: "key-operator", name: "operator", namespace: "alice", role: "operator" },
  requestId: "request",
};
const agent: Caller = { ...operator, principal: { ...operator.principal, id: "key-agent", role: "agent" } };

describe.each(engines)("the value of a bound secret (%s)", (engine) => {
  it("[SEC-06] [LIF-10] is in no output, record, event, log, snapshot or file of the host, also under the next daemon", async () => {
    await using home = await makeHome();
    const value = `s3cr3t-${randomBytes(12).toString("hex")}`;
    const encoded = Buffer.from(value).toString("base64");
    let id = "";
    const told: unknown[] = [];
    {
      await using test = await home.open({ engine });
      const { fleet, vault, storage } = test;
      await vault.put(operator, { name: "API_KEY", value: Buffer.from(value) });
      await vault.bind(operator, "API_KEY", { target: { all: true }, delivery: { as: "env", variable: "TOKEN" } });
      id = (await fleet.create(agent, {})).record.id;
      const exec = (command: string) => fleet.use(agent, id, (sandbox) => sandbox.exec({ command }));
      const env = await exec("env; cat /proc/self/environ | tr '\\0' '\\n'; echo $TOKEN >&2");
      expect(env.stdout.match(/TOKEN=\*\*\*REDACTED\*\*\*/g)).toHaveLength(2);
      told.push(env, await exec('echo "$TOKEN" > copy; printf %s "$TOKEN" | base64 > encoded'));
      told.push(await exec("cat copy encoded; exit 3"), await exec(`cat /nope/$TOKEN`));
      await fleet.use(agent, id, (sandbox) =>
        sandbox.processes.start({ command: 'while :; do echo "$TOKEN"; sleep 0.2; done' }),
      );
      const snapshot = await fleet.use(agent, id, (sandbox) => storage.snapshots.create(agent, sandbox, "with a copy"));
      told.push(snapshot, await storage.snapshots.entries(agent, snapshot.id, { limit: 100 }));
      const copy = (await fleet.create(agent, { snapshotId: snapshot.id })).record.id;
      const kept = await fleet.use(agent, copy, (sandbox) => sandbox.exec({ command: "od -c copy; od -c encoded" }));
      expect(kept.stdout).toContain("*   *   *");
      await fleet.destroy(agent, copy);
      told.push(test.events, await test.store.audit.search({ limit: 1_000 }), test.errors.map(String));
    }
    await using test = await home.open({ engine });
    const { fleet, store } = test;
    const [process] = await fleet.use(agent, id, async (sandbox) => sandbox.processes.list());
    const written = await fleet.use(agent, id, async (sandbox) => {
      for await (const piece of sandbox.processes.get(process?.id ?? "").output({})) return piece;
      return undefined;
    });
    told.push(written, await store.audit.search({ limit: 1_000 }));
    const text = inspect(told, {
      depth: 20,
      maxArrayLength: null,
      maxStringLength: null,
      breakLength: Number.POSITIVE_INFINITY,
    });
    expect(text).toContain("REDACTED");
    expect(text).not.toContain(value);
    expect(text).not.toContain(encoded.slice(0, -2));
    await fleet.stop(agent, id);
    // The workspace is the user's own, and holds what code wrote there: all else on the host's disk does not.
    const places = await filesWith(home.home, Buffer.from(value));
    expect(places.filter((path) => !path.endsWith("workspace.img"))).toEqual([]);
    expect(places).toHaveLength(1);
    await fleet.destroy(agent, id);
  });
});
