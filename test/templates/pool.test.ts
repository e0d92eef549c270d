import { describe, expect, it } from "vitest";
import { sharedContext, toCommand } from "../../packages/server/src/core/command.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { makeHome, type TestFleet, until } from "../fleet/fixture.ts";
import { engines } from "../harness.ts";

const MiB = 1024 ** 2;
const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "operator" },
  requestId: "request",
};
const code = "import os, random, time; at = time.time_ns(); seen = os.environ.get('KIND')";

async function told({ fleet }: TestFleet, id: string, expression: string): Promise<unknown> {
  const command = toCommand({ what: { code: expression, language: "python", context: sharedContext } });
  const done = await fleet.run(caller, id, command, {}, (sandbox) => sandbox.runInContext());
  return done.results[0]?.json;
}

describe.each(engines)("[IMG-06] a template that was asked for, %s", (engine) => {
  it("has a sandbox in waiting, whose warm-up is over, until the template is deleted", async () => {
    await using home = await makeHome();
    await using daemon = await home.open({
      ...{ engine, poolSize: 1, limits: { memoryBytes: 128 * MiB, storageBytes: 16 * MiB } },
    });
    const { fleet, templates, templateBuilds } = daemon;
    const { id } = await templateBuilds.create(caller, {
      name: "hot",
      env: { KIND: "own" },
      warmUp: { language: "python", code },
    });
    await until(() => templates.get(caller, id).state === "ready");
    const waiting = () => fleet.pools().find(({ image }) => image === `template ${id}`);
    expect(waiting()).toBeUndefined();

    const { record: first } = await fleet.create(caller, { template: "hot" });
    expect(first.origin).not.toContain("pool");
    await until(() => waiting()?.ready === 1);
    const beforeNs = Date.now() * 1e6;
    const { record: second } = await fleet.create(caller, { template: "hot", limits: { cpus: 0.5 } });
    expect(second).toMatchObject({ origin: expect.stringContaining("in the pool"), limits: { cpus: 0.5 } });
    expect(second.template).toMatchObject({ name: "hot", memory: engine === "gvisor" });
    expect(await told(daemon, second.id, "seen")).toBe("own");
    expect(await told(daemon, second.id, "at")).toBeLessThan(beforeNs);
    const draw = "[random.random() for _ in range(3)]";
    expect(await told(daemon, second.id, draw)).not.toEqual(await told(daemon, first.id, draw));

    // Nobody gets one whose warm-up saw other variables than are asked for.
    await until(() => waiting()?.ready === 1);
    const { record: other } = await fleet.create(caller, { template: "hot", env: { MORE: "1" } });
    expect(other.origin).not.toContain("pool");
    for (const record of [first, second, other]) await fleet.destroy(caller, record.id);
    await templateBuilds.delete(caller, "hot");
    expect(waiting()).toBeUndefined();
    expect(await daemon.caisson.layers()).toEqual([]);
    expect(daemon.errors).toEqual([]);
  });
});
