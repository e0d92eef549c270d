import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toCommand } from "../../packages/server/src/core/command.ts";
import { AppError } from "../../packages/server/src/core/errors.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { supervisionLimits } from "../../packages/server/src/supervision/limits.ts";
import { engines } from "../harness.ts";
import { callerOf, type FleetHome, makeHome, openFleet, type TestFleet, until } from "./fixture.ts";

const alice = callerOf("alice");
const bob = callerOf("bob");
const echo = toCommand({ what: { line: "echo" } });

describe.each(engines)("a fleet (%s)", (engine) => {
  let home: FleetHome;
  let test: TestFleet;
  beforeAll(async () => {
    home = await makeHome();
    test = await home.open({ engine });
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
    expect(test.errors).toEqual([]);
  });

  const logOf = async (id: string) =>
    (await test.store.audit.search({ sandboxId: id, after: 0 })).map(({ type, actor }) => [type, actor]);
  const eventsOf = (id: string) => test.events.filter(({ sandbox_id }) => sandbox_id === id).map(({ type }) => type);

  it("[LIF-01] [LIF-05] makes, lends and destroys a sandbox; each transition is an event and in the log", async () => {
    const { fleet, store } = test;
    const { record, isNew } = await fleet.create(alice, { labels: { team: "x" } });
    const { id } = record;
    expect(isNew).toBe(true);
    expect(record).toMatchObject({ namespace: "alice", status: "running", engine, createdBy: "key-alice" });
    expect(await store.sandboxes.get(id)).toEqual(record);
    await fleet.use(alice, id, (sandbox) => sandbox.files.write("note", "kept"));
    await fleet.pause(alice, id);
    expect(await fleet.get(alice, id)).toMatchObject({ status: "paused", pausedAtMs: expect.any(Number) });
    const { stdout } = await fleet.run(alice, id, toCommand({ what: { line: "cat note" } }), {}, (sandbox) =>
      sandbox.run(),
    );
    expect(stdout).toBe("kept");
    expect(await fleet.get(alice, id)).toMatchObject({ status: "running", pausedAtMs: null });
    expect(await fleet.stats(alice, id)).toMatchObject({ cpuMs: expect.any(Number) });
    await fleet.destroy(alice, id);
    await expect(fleet.get(alice, id)).rejects.toMatchObject({ code: "not_found" });
    await expect(fleet.use(alice, id, async () => 1)).rejects.toMatchObject({ code: "not_found" });
    expect(await test.caisson.keptSandboxes()).toEqual([]);
    expect(await store.sandboxes.get(id)).toBeUndefined();
    const transitions = ["sandbox.created", "sandbox.paused", "sandbox.resumed", "sandbox.destroyed"];
    expect(eventsOf(id)).toEqual(transitions);
    expect(await logOf(id)).toEqual(
      [...transitions.slice(0, 3), "execution.completed", ...transitions.slice(3)].map((type) => [type, "key-alice"]),
    );
  });

  it("[LIF-01] another namespace's sandbox does not exist, whatever is asked of it", async () => {
    const { fleet } = test;
    const { id } = (await fleet.create(alice, {})).record;
    const missing = { code: "not_found" };
    for (const ask of [
      () => fleet.get(bob, id),
      () => fleet.change(bob, id, { labels: {} }),
      () => fleet.start(bob, id),
      () => fleet.stop(bob, id),
      () => fleet.pause(bob, id),
      () => fleet.resume(bob, id),
      () => fleet.reset(bob, id),
      () => fleet.destroy(bob, id),
      () => fleet.use(bob, id, async () => 1),
      () => fleet.run(bob, id, echo, {}, async () => ({})),
      () => fleet.stats(bob, id),
    ])
      await expect(ask()).rejects.toMatchObject(missing);
    expect(await fleet.list(bob, { limit: 10 })).toEqual([]);
    expect((await fleet.list(alice, { limit: 10 })).map((record) => record.id)).toEqual([id]);
    await fleet.destroy(alice, id);
  });

  it("[LIF-01] is creating while the files of a snapshot come, and leaves nothing where they do not", async () => {
    await using own = await makeHome();
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const restore = async (_: unknown, sandbox: Sandbox, snapshotId: string) => {
      if (snapshotId === "missing") throw new AppError("not_found", "there is no such snapshot");
      begun.resolve();
      await gate.promise;
      await sandbox.files.write("note", snapshotId);
    };
    await using test = await openFleet(own.home, { engine }, systemClock, restore);
    const { fleet } = test;
    const created = fleet.create(alice, { snapshotId: "s1" });
    await begun.promise;
    const [record] = await fleet.list(alice, { limit: 1 });
    const id = record?.id ?? "";
    expect(record).toMatchObject({ status: "creating" });
    for (const ask of [
      () => fleet.use(alice, id, async () => 1),
      () => fleet.stop(alice, id),
      () => fleet.pause(alice, id),
      () => fleet.reset(alice, id),
    ])
      await expect(ask()).rejects.toMatchObject({ code: "conflict" });
    gate.resolve();
    expect((await created).record).toMatchObject({ id, status: "running" });
    expect((await fleet.use(alice, id, (sandbox) => sandbox.exec({ command: "cat note" }))).stdout).toBe("s1");
    await fleet.destroy(alice, id);
    await expect(fleet.create(alice, { snapshotId: "missing" })).rejects.toMatchObject({ code: "not_found" });
    expect(await fleet.list(alice, { limit: 10 })).toEqual([]);
    expect(await test.caisson.keptSandboxes()).toEqual([]);
    const types = (await test.store.audit.search({ after: 0 })).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("sandbox."))).toEqual([
      "sandbox.created",
      "sandbox.started",
      "sandbox.destroyed",
      "sandbox.created",
      "sandbox.destroyed",
    ]);
  });

  it("[LIF-03] gives two that ask at once for one session one sandbox, and another namespace its own", async () => {
    const { fleet } = test;
    const ask = { sessionKey: "agent-1" };
    const [first, second, other] = await Promise.all([
      fleet.create(alice, ask),
      fleet.create(alice, ask),
      fleet.create(bob, ask),
    ]);
    expect(second).toEqual({ record: first?.record, isNew: false });
    expect(other?.record.id).not.toBe(first?.record.id);
    const id = first?.record.id ?? "";
    expect(await fleet.create(alice, ask)).toMatchObject({ record: { id }, isNew: false });
    await fleet.destroy(alice, id);
    expect(eventsOf(id)).toEqual(["sandbox.created", "session.created", "sandbox.destroyed", "session.killed"]);
    const again = await fleet.create(alice, ask);
    expect(again).toMatchObject({ isNew: true });
    expect(again.record.id).not.toBe(id);
    await fleet.destroy(alice, again.record.id);
    await fleet.destroy(bob, other?.record.id ?? "");
  });

  it("[EXE-12] refuses a command that policy denies, with its category and its caller in the log", async () => {
    await using own = await makeHome();
    await using strict = await own.open({ engine, commands: { allow: [], deny: ["category:network"], ask: [] } });
    const { id } = (await strict.fleet.create(alice, {})).record;
    const run = (line: string) =>
      strict.fleet.run(alice, id, toCommand({ what: { line } }), {}, (sandbox) => sandbox.run());
    await expect(run("ls; curl x")).rejects.toMatchObject({ code: "forbidden", details: { rule: "category:network" } });
    expect((await run("echo well")).stdout).toBe("well\n");
    const log = await strict.store.audit.search({ sandboxId: id, after: 0 });
    expect(log.slice(1).map(({ type, actor, detail }) => [type, actor, detail.categories])).toEqual([
      ["execution.denied", "key-alice", "network,other"],
      ["execution.completed", "key-alice", "other"],
    ]);
    await strict.fleet.destroy(alice, id);
  });

  it("[LIF-12] drains: what runs ends, nothing new begins, and the next fleet goes on with what was left", async () => {
    await using own = await makeHome();
    let id: string;
    {
      await using first = await own.open({ engine });
      id = (await first.fleet.create(alice, { sessionKey: "s" })).record.id;
      const line = "echo begun > note; read line; echo $line >> note";
      const reading = toCommand({ what: { line }, stdin: "stream" });
      const began = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<string>();
      async function* typed() {
        began.resolve();
        yield Buffer.from(await gate.promise);
      }
      const running = first.fleet.run(alice, id, reading, {}, (sandbox) => sandbox.run({ input: typed() }));
      await began.promise;
      const drained = first.fleet.drain(supervisionLimits.drainMs);
      const refused = { code: "unavailable", retryAfterMs: expect.any(Number) };
      await expect(first.fleet.create(alice, {})).rejects.toMatchObject(refused);
      await expect(first.fleet.use(alice, id, async () => 1)).rejects.toMatchObject(refused);
      gate.resolve("ended\n");
      expect(await running).toMatchObject({ exit_code: 0 });
      await drained;
    }
    await using second = await own.open({ engine });
    expect(await second.fleet.create(alice, { sessionKey: "s" })).toMatchObject({ record: { id }, isNew: false });
    expect((await second.fleet.use(alice, id, (sandbox) => sandbox.exec({ command: "cat note" }))).stdout).toBe(
      "begun\nended\n",
    );
    await second.fleet.destroy(alice, id);
    await until(async () => (await second.caisson.keptSandboxes()).length === 0);
  });
});
