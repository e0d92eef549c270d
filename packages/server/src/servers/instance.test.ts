import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AppError } from "../core/errors.ts";
import { Instance, type InstanceParts, type Lease, type Program } from "./instance.ts";
import { serverLimits } from "./limits.ts";

/** Programs that a test starts, ends and counts. */
class Maker {
  readonly running = new Set<{ end: (why: string) => void }>();
  readonly seen: string[] = [];
  most = 0;
  started = 0;
  failing = false;
  nowMs = 0;
  gate: Promise<void> | undefined;
  turn: Promise<void> = Promise.resolve();
  starting: Promise<void> = Promise.resolve();
  closing: Promise<void> = Promise.resolve();
  readonly instance = new Instance(this.parts());

  parts(): InstanceParts {
    return {
      start: async (signal, begun) => {
        await this.turn;
        signal.throwIfAborted();
        begun();
        await this.starting;
        signal.throwIfAborted();
        if (this.failing) throw new AppError("unavailable", "it does not start");
        return this.#make();
      },
      gate: () => this.gate,
      idleTimeoutMs: () => 1_000,
      clock: { monotonicMs: () => this.nowMs },
      onStarted: () => void this.seen.push("started"),
      onStopped: (why) => void this.seen.push(`stopped: ${why}`),
      onCrashed: (why, failures) => void this.seen.push(`crashed ${failures}: ${why}`),
      onFree: () => undefined,
      onError: (error) => {
        throw error;
      },
    };
  }

  #make(): Program {
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    const one = { end: resolve };
    this.running.add(one);
    this.started += 1;
    this.most = Math.max(this.most, this.running.size);
    const close = async () => {
      await this.closing;
      this.running.delete(one);
      resolve("closed");
    };
    const carrier = { kind: "http", dial: () => Promise.reject(new Error("none")), host: "" } as const;
    return { carrier, mask: (value) => value, ended, close };
  }
}

const never = new AbortController().signal;
const settled = async () => {
  for (let at = 0; at < 20; at++) await turn();
};

describe("an instance of a hosted server", () => {
  it("starts once for all who call at the same time, and stops when nobody has used it for its time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const maker = new Maker();
    const leases = await Promise.all([1, 2, 3].map(() => maker.instance.lease(never)));
    expect(maker.started).toBe(1);
    expect(new Set(leases.map(({ incarnation }) => incarnation)).size).toBe(1);
    for (const lease of leases.slice(1)) lease.release();
    leases[1]?.release(); // once more: it counts once
    vi.advanceTimersByTime(10_000);
    expect(maker.instance.state).toBe("running");
    leases[0]?.release();
    vi.advanceTimersByTime(999);
    expect(maker.instance.state).toBe("running");
    vi.advanceTimersByTime(1);
    await settled();
    expect([maker.instance.state, maker.running.size]).toEqual(["stopped", 0]);
    expect(maker.seen).toEqual(["started", "stopped: it was idle"]);
    expect(leases[0]?.ended.reason).toMatchObject({ code: "unavailable" });
  });

  it("a call that comes while it stops waits, and gets the next one", async () => {
    const maker = new Maker();
    const first = await maker.instance.lease(never);
    const closed = Promise.withResolvers<void>();
    maker.closing = closed.promise;
    const stopping = maker.instance.stop("a test");
    const second = maker.instance.lease(never);
    await settled();
    expect([maker.instance.state, maker.started]).toEqual(["stopping", 1]);
    closed.resolve();
    await stopping;
    expect((await second).incarnation).not.toBe(first.incarnation);
    expect(maker.most).toBe(1);
  });

  it("that finds no place is not counted as a crash", async () => {
    const maker = new Maker();
    const full = new AppError("limit_exceeded", "all instances are in use");
    for (let at = 0; at < serverLimits.crashes; at++) {
      maker.turn = Promise.reject(full);
      await expect(maker.instance.lease(never)).rejects.toBe(full);
    }
    maker.turn = Promise.resolve();
    (await maker.instance.lease(never)).release();
    expect(maker.seen).toEqual(["started"]);
  });

  it("ends the calls under way with an error that their outcome is unknown when its program ends", async () => {
    const maker = new Maker();
    const lease = await maker.instance.lease(never);
    for (const one of maker.running) one.end("ended by SIGKILL");
    await settled();
    expect(lease.ended.reason.message).toBe(
      "the server stopped: ended by SIGKILL; the outcome of calls under way is unknown",
    );
    expect(maker.seen).toEqual(["started", "crashed 1: ended by SIGKILL"]);
    lease.release();
    maker.nowMs += serverLimits.backOffMs.first;
    expect((await maker.instance.lease(never)).incarnation).not.toBe(lease.incarnation);
  });

  it("waits longer after each failure, and is a crash loop after so many, until it is forgiven", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const maker = new Maker();
    maker.failing = true;
    const pauses: number[] = [];
    for (let at = 0; at < serverLimits.crashes; at++) {
      const asked = maker.instance.lease(never).catch((error: AppError) => error);
      const count = maker.seen.length;
      for (let ms = 0; maker.seen.length === count && ms < 60_000; ms += 500) {
        await settled();
        if (maker.seen.length > count) {
          pauses.push(ms);
          break;
        }
        maker.nowMs += 500;
        vi.advanceTimersByTime(500);
      }
      expect(await asked).toMatchObject({ message: "it does not start" });
    }
    expect(pauses).toEqual([0, 500, 1_000, 2_000, 4_000]);
    expect([maker.instance.state, maker.instance.failure]).toEqual(["crash_loop", "it does not start"]);
    maker.nowMs += 3_600_000;
    await expect(maker.instance.lease(never)).rejects.toMatchObject({ details: { crash_loop: true } });
    maker.instance.forgive();
    maker.failing = false;
    (await maker.instance.lease(never)).release();
    expect(maker.instance.failure).toBeNull();
    await maker.instance.stop("done");
  });

  it("gives no lease while its gate is closed, not even of a running one, and the caller may leave", async () => {
    const maker = new Maker();
    (await maker.instance.lease(never)).release();
    const opened = Promise.withResolvers<void>();
    maker.gate = opened.promise;
    const waiting = maker.instance.lease(never);
    const leaving = new AbortController();
    const left = maker.instance.lease(leaving.signal);
    leaving.abort(new AppError("timeout", "gone"));
    await expect(left).rejects.toThrow("gone");
    await maker.instance.stop("a new version");
    maker.gate = undefined;
    opened.resolve();
    await waiting;
    expect(maker.started).toBe(2);
    maker.gate = Promise.reject(new AppError("not_found", "deleted"));
    await expect(maker.instance.lease(never)).rejects.toThrow("deleted");
  });

  it("is drained when the last call under way has ended, or its time is over", async () => {
    const maker = new Maker();
    const lease = await maker.instance.lease(never);
    let isDrained = false;
    const drained = maker.instance.drain(60_000).then(() => {
      isDrained = true;
    });
    await settled();
    expect(isDrained).toBe(false);
    lease.release();
    await drained;
    const other = await maker.instance.lease(never);
    await maker.instance.drain(1);
    other.release();
  });

  it("does not start for a call that left while it waited for its turn, and does for one that left later", async () => {
    const maker = new Maker();
    const turnOf = Promise.withResolvers<void>();
    maker.turn = turnOf.promise;
    const leaving = new AbortController();
    const left = maker.instance.lease(leaving.signal);
    leaving.abort(new AppError("timeout", "gone"));
    await expect(left).rejects.toThrow("gone");
    turnOf.resolve();
    await settled();
    expect([maker.instance.state, maker.started]).toEqual(["stopped", 0]);
    const begun = Promise.withResolvers<void>();
    maker.starting = begun.promise;
    const later = new AbortController();
    const other = maker.instance.lease(later.signal);
    await settled();
    later.abort(new AppError("timeout", "gone"));
    await expect(other).rejects.toThrow("gone");
    begun.resolve();
    await settled();
    expect([maker.instance.state, maker.started]).toEqual(["running", 1]);
    expect(maker.seen).toEqual(["started"]);
    await maker.instance.stop("done");
  });

  it("never runs twice, never lends what has ended, and leaves nothing, in any order of calls, stops and crashes", async () => {
    const actions = fc.constantFrom("lease", "release", "stop", "crash", "fail", "heal", "slow", "quick", "wait");
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { maxLength: 40 }), async (list) => {
        const maker = new Maker();
        const held: Lease[] = [];
        const asked: Promise<unknown>[] = [];
        let quick: (() => void) | undefined;
        for (const action of list) {
          switch (action) {
            case "lease": {
              const given = maker.instance.lease(AbortSignal.timeout(60_000)).then((lease) => {
                expect(lease.ended.aborted).toBe(false);
                held.push(lease);
              });
              asked.push(given.catch(() => undefined));
              break;
            }
            case "release":
              held.pop()?.release();
              break;
            case "stop":
              asked.push(maker.instance.stop("a test"));
              break;
            case "crash":
              for (const one of maker.running) one.end("a crash");
              break;
            case "fail":
            case "heal":
              maker.failing = action === "fail";
              break;
            case "slow": {
              const { promise, resolve } = Promise.withResolvers<void>();
              maker.starting = promise;
              maker.closing = promise;
              quick?.();
              quick = resolve;
              break;
            }
            case "quick":
              quick?.();
              break;
            default:
              await turn();
          }
          maker.nowMs += 60_000; // no pause after a failure keeps a call waiting
          maker.instance.forgive();
          expect(maker.instance.leases).toBeGreaterThanOrEqual(0);
        }
        quick?.();
        maker.failing = false;
        await Promise.all(asked);
        await maker.instance.stop("the end");
        for (const lease of held) lease.release();
        expect(maker.most).toBeLessThanOrEqual(1);
        expect([maker.running.size, maker.instance.state, maker.instance.leases]).toEqual([0, "stopped", 0]);
      }),
      { seed: Number(process.env.CAISSON_SEED ?? 1), numRuns: 300 },
    );
  });
});
