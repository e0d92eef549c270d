import { describe, expect, it } from "vitest";
import { toCommand } from "../../packages/server/src/core/command.ts";
import type { CreateRequest } from "../../packages/server/src/core/fleet.ts";
import { fleetLimits, queueLimits } from "../../packages/server/src/sandboxes/fleet/limits.ts";
import { callerOf, makeHome, until } from "./fixture.ts";

const alice = callerOf("alice");
const bob = callerOf("bob");
const job = toCommand({ what: { line: "true" } });

describe("jobs of a fleet", () => {
  it("[LIF-11] wait for a place, can be cancelled, and are refused with a time to come again when too many wait", async () => {
    await using own = await makeHome();
    await using test = await own.open({ maxConcurrent: 1 });
    const { fleet } = test;
    const [mine, other] = [(await fleet.create(alice, {})).record.id, (await fleet.create(bob, {})).record.id];
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const run = (name: string, caller = alice, id = mine, more = {}) =>
      fleet.run(caller, id, toCommand({ id: `run_${name}`, what: { line: "true" } }), more, async (sandbox) => {
        order.push(name);
        if (name === "first") await gate.promise;
        return sandbox.run();
      });
    const first = run("first");
    await until(() => order.length === 1);
    const cancel = new AbortController();
    const cancelled = run("cancelled", alice, mine, { signal: cancel.signal });
    const later = [run("low", alice, mine, { priority: -1 }), run("plain")];
    const theirs = run("theirs", bob, other);
    cancel.abort(new Error("not any more"));
    await expect(cancelled).rejects.toThrow("not any more");
    expect(fleet.queue()).toMatchObject({ running: 1, waiting: 3, waitingByNamespace: { alice: 2, bob: 1 } });
    expect(fleet.waiting(alice)[0]).toMatchObject({ id: "run_plain", kind: "command" });
    // What is no run and finds its sandbox running waits for nobody.
    expect(await fleet.use(alice, mine, (sandbox) => sandbox.exec({ command: "echo now" }))).toMatchObject({
      stdout: "now\n",
    });
    const many = Array.from({ length: queueLimits.waitingPerNamespace - 2 }, () => run("many"));
    await expect(run("too many")).rejects.toMatchObject({
      code: "limit_exceeded",
      retryAfterMs: expect.toSatisfy((ms: number) => ms >= queueLimits.retryMinMs && ms <= queueLimits.retryMaxMs),
    });
    expect(test.events.at(-1)).toMatchObject({ type: "queue.backpressure", namespace: "alice", sandbox_id: null });
    gate.resolve();
    await Promise.all([first, ...later, theirs, ...many]);
    expect(order.filter((name) => name !== "many")).toEqual(["first", "plain", "theirs", "low"]);
    await fleet.destroy(alice, mine);
    await fleet.destroy(bob, other);
  });

  it("[LIF-11] that make a session's sandbox are given up with the client that asked, and begun again for another", async () => {
    await using own = await makeHome();
    await using test = await own.open({ maxConcurrent: 1 });
    const { fleet } = test;
    const { id } = (await fleet.create(alice, {})).record;
    const gate = Promise.withResolvers<void>();
    const running = fleet.run(alice, id, job, {}, async () => gate.promise.then(() => ({})));
    await until(() => fleet.queue().running === 1);
    const left = new AbortController();
    const first = fleet.create({ ...alice, gone: left.signal, requestId: "first" }, { sessionKey: "shared" });
    const second = fleet.create({ ...alice, requestId: "second" }, { sessionKey: "shared" });
    await until(() => fleet.waiting(alice).length === 1);
    expect(fleet.waiting(alice)).toMatchObject([{ kind: "create", requestId: "first", position: 1 }]);
    left.abort(new Error("gone"));
    await expect(first).rejects.toThrow("gone");
    await until(() => fleet.waiting(alice).length === 1);
    expect(fleet.waiting(alice)).toMatchObject([{ requestId: "second" }]);
    gate.resolve();
    const made = await second;
    expect(made).toMatchObject({ isNew: true, record: { sessionKey: "shared" } });
    await running;
    await fleet.destroy(alice, id);
    await fleet.destroy(alice, made.record.id);
  });

  it("[LIF-11] that stream are in the log before they begin; those that fail are there too", async () => {
    await using own = await makeHome();
    await using test = await own.open();
    const { id } = (await test.fleet.create(alice, {})).record;
    const log = async () => (await test.store.audit.search({ sandboxId: id, after: 1 })).map(({ type }) => type);
    await test.fleet.run(alice, id, job, { streams: true }, async () => {
      expect(await log()).toEqual(["execution.started"]);
      return {};
    });
    const broken = test.fleet.run(alice, id, job, {}, async () => {
      throw new Error("broken");
    });
    await expect(broken).rejects.toThrow("broken");
    expect(await log()).toEqual(["execution.started", "execution.completed", "execution.failed"]);
    const [, completed] = await test.store.audit.search({ sandboxId: id, after: 1 });
    expect(completed).toMatchObject({ actor: "key-alice", runId: job.id, detail: { categories: "other" } });
    await test.fleet.destroy(alice, id);
  });
});

describe("the requests of a fleet", () => {
  const refused: [CreateRequest, object][] = [
    [{ image: "other" }, { code: "not_found", details: { images: ["host"] } }],
    [{ sessionKey: "" }, { code: "invalid" }],
    [{ sessionKey: "x".repeat(fleetLimits.sessionKeyChars + 1) }, { code: "invalid" }],
    [{ env: { "A=B": "x" } }, { code: "invalid" }],
    [{ env: { A: "x".repeat(fleetLimits.envBytes) } }, { code: "too_large" }],
    [{ labels: { a: "x".repeat(fleetLimits.labelBytes) } }, { code: "too_large" }],
    [{ idleTimeoutMs: 1 }, { code: "invalid" }],
    [{ limits: { memoryBytes: 1 } }, { code: "invalid" }],
    [{ priority: 1_000 }, { code: "invalid" }],
  ];

  it("[SBX-13] are refused before anything is made when they go past a limit", async () => {
    await using own = await makeHome();
    await using test = await own.open();
    for (const [request, refusal] of refused)
      await expect(test.fleet.create(alice, request)).rejects.toMatchObject(refusal);
    expect(await test.caisson.keptSandboxes()).toEqual([]);
  });
});
