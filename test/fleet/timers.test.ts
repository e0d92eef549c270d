import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../packages/server/src/config/config.ts";
import { readEnvironment } from "../../packages/server/src/config/env.ts";
import { fleetOptions } from "../../packages/server/src/config/fleet-options.ts";
import { engines } from "../harness.ts";
import { callerOf, makeHome, small, until } from "./fixture.ts";
import { SetClock } from "./set-clock.ts";

const alice = callerOf("alice");
const hour = 3_600_000;

describe.each(engines)("the timers of a fleet (%s)", (engine) => {
  it("[LIF-04] an idle one is stopped, one in use or paused is not, and an old one is destroyed", async () => {
    await using own = await makeHome();
    const clock = new SetClock();
    await using test = await own.open({ engine, idleTimeoutMs: hour, lifetimeMs: 5 * hour }, clock);
    const { fleet } = test;
    const made = await Promise.all([1, 2, 3].map(() => fleet.create(alice, {})));
    const [idle = "", used = "", paused = ""] = made.map(({ record }) => record.id);
    const statusOf = async (id: string) => (await fleet.get(alice, id)).status;
    const gate = Promise.withResolvers<void>();
    const using = fleet.use(alice, used, () => gate.promise);
    await fleet.pause(alice, paused);
    clock.pass(2 * hour);
    await until(async () => (await statusOf(idle)) === "stopped");
    expect(await statusOf(used)).toBe("running");
    expect(await statusOf(paused)).toBe("paused");
    gate.resolve();
    await using;
    await fleet.resume(alice, paused); // two hours of standing still are no idle hour
    clock.pass(0.9 * hour);
    await fleet.use(alice, used, async () => undefined);
    clock.pass(0.2 * hour);
    await until(async () => (await statusOf(paused)) === "stopped");
    expect(await statusOf(used)).toBe("running");
    clock.pass(2 * hour);
    await until(async () => (await fleet.list(alice, { limit: 10 })).length === 0);
    await until(async () => (await test.caisson.keptSandboxes()).length === 0);
    const log = await test.store.audit.search({ type: "sandbox.destroyed", after: 0 });
    expect(log.map(({ actor }) => actor)).toEqual(["system", "system", "system"]);
  });

  it("[LIF-04] timers go on over a restart of the daemon", async () => {
    await using own = await makeHome();
    const clock = new SetClock();
    const settings = { engine, idleTimeoutMs: hour, lifetimeMs: 5 * hour };
    let id: string;
    {
      await using first = await own.open(settings, clock);
      id = (await first.fleet.create(alice, {})).record.id;
      clock.pass(0.6 * hour);
    }
    clock.wallShiftMs += 0.6 * hour; // while there is no daemon, nothing but the wall clock goes on
    {
      await using second = await own.open(settings, clock);
      await until(async () => (await second.fleet.get(alice, id)).status === "stopped");
    }
    clock.wallShiftMs += 4 * hour;
    await using third = await own.open(settings, clock);
    await until(async () => (await third.fleet.list(alice, { limit: 1 })).length === 0);
  });
});

describe("the timers of a fleet", () => {
  it("[LIF-04] a wall clock that jumps while the daemon runs ends nothing before its time", async () => {
    await using own = await makeHome();
    const clock = new SetClock();
    await using test = await own.open({ idleTimeoutMs: hour, lifetimeMs: 5 * hour }, clock);
    const { fleet } = test;
    const { id } = (await fleet.create(alice, {})).record;
    for (const jumpMs of [100 * hour, -200 * hour]) {
      clock.wallShiftMs += jumpMs;
      const short = (await fleet.create(alice, { lifetimeMs: 1_000 })).record.id;
      // When this one's time has come, every timer has been looked at since the jump.
      await until(async () => (await fleet.list(alice, { limit: 10 })).every((record) => record.id !== short));
      expect(await fleet.get(alice, id)).toMatchObject({ status: "running" });
    }
    await fleet.destroy(alice, id);
  });

  it("[SBX-13] a sandbox has 1800 s of idleness and 24 h of life unless told, and not more than is allowed", async () => {
    await using own = await makeHome();
    const environment = readEnvironment({ CAISSON_HOME: own.home, CAISSON_MAX_LIFETIME: "172800" });
    const configured = fleetOptions(await loadConfiguration({ environment, configFile: null }));
    await using test = await own.open({ ...configured, engine: "container", poolSize: 0, limits: small });
    const { fleet } = test;
    const { record } = await fleet.create(alice, {});
    expect(record.idleTimeoutMs).toBe(1_800_000);
    expect(record.expiresAtMs - record.createdAtMs).toBe(24 * hour);
    const longer = await fleet.change(alice, record.id, { lifetimeMs: 48 * hour, labels: { a: "b" } });
    expect(longer).toMatchObject({ labels: { a: "b" }, expiresAtMs: record.createdAtMs + 48 * hour });
    const tooLong = { code: "invalid", message: "lifetime: 172801 s exceeds the maximum of 172800 s" };
    await expect(fleet.create(alice, { lifetimeMs: 172_801_000 })).rejects.toMatchObject(tooLong);
    await expect(fleet.change(alice, record.id, { lifetimeMs: 172_801_000 })).rejects.toMatchObject(tooLong);
    await fleet.destroy(alice, record.id);
  });
});
