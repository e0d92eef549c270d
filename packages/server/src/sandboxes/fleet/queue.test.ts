import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { queueLimits } from "./limits.ts";
import { JobQueue, type JobRequest, type QueueOptions } from "./queue.ts";

function open(options: Partial<QueueOptions> = {}): JobQueue {
  return new JobQueue({ maxConcurrent: 1, monotonicMs: () => 0, ...options });
}

const callerOf = (namespace: string, requestId = "") => ({ principal: { namespace }, requestId });

/** A job that ends when it is told to. */
function jobs(queue: JobQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (name: string, namespace: string, more: Partial<Omit<JobRequest, "caller">> = {}) =>
    queue.with({ caller: callerOf(namespace, name), kind: "command", ...more }, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, add, end };
}

describe("the queue of jobs", () => {
  it("[LIF-11] lets so many run at once, and the others in their order", async () => {
    const queue = open({ maxConcurrent: 2 });
    const { begun, add, end } = jobs(queue);
    const all = ["1", "2", "3", "4"].map((name) => add(name, "a"));
    expect(begun).toEqual(["1", "2"]);
    expect(queue.status()).toMatchObject({ running: 2, waiting: 2, waitingByNamespace: { a: 2 } });
    await end("2");
    expect(begun).toEqual(["1", "2", "3"]);
    for (const name of ["1", "3", "4"]) await end(name);
    expect(await Promise.all(all)).toEqual(["1", "2", "3", "4"]);
    expect(queue.status()).toMatchObject({ running: 0, waiting: 0, waitingByNamespace: {} });
  });

  it("[LIF-11] takes the namespaces in turn, and within one the higher priority first", async () => {
    const { begun, add, end } = jobs(open());
    void add("first", "a");
    for (const name of ["a1", "a2", "a3"]) void add(name, "a");
    void add("a-high", "a", { priority: 5 });
    for (const name of ["b1", "b2"]) void add(name, "b");
    for (const name of ["first", "a-high", "b1", "a1", "b2", "a2", "a3"]) {
      expect(begun.at(-1)).toBe(name);
      await end(name);
    }
  });

  it("[LIF-11] is full at its depth, says when to come again, and tells of it", async () => {
    const told: string[] = [];
    const queue = open({ maxWaiting: 3, maxWaitingEach: 2, onFull: (namespace) => told.push(namespace) });
    const { add, end } = jobs(queue);
    void add("r", "a");
    const waiting = [add("1", "a"), add("2", "a")];
    await expect(add("3", "a")).rejects.toMatchObject({
      code: "limit_exceeded",
      retryAfterMs: expect.toSatisfy((ms: number) => ms >= queueLimits.retryMinMs && ms <= queueLimits.retryMaxMs),
    });
    void add("4", "b"); // the others' share is not theirs
    await expect(add("5", "b")).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(told).toEqual(["a", "b"]);
    for (const name of ["r", "1", "4", "2"]) await end(name);
    await Promise.all(waiting);
  });

  it("[LIF-11] gives a place up when its job is cancelled, and only then", async () => {
    const queue = open();
    const { begun, add, end } = jobs(queue);
    const cancel = new AbortController();
    const running = add("r", "a", { signal: cancel.signal });
    const other = new AbortController();
    const waiting = add("w", "a", { signal: other.signal });
    cancel.abort();
    other.abort(new Error("not any more"));
    await expect(waiting).rejects.toThrow("not any more");
    expect(queue.status()).toMatchObject({ running: 1, waiting: 0 });
    await expect(add("late", "a", { signal: other.signal })).rejects.toThrow("not any more");
    await end("r");
    await running;
    expect(begun).toEqual(["r"]);
  });

  it("[LIF-11] tells who waits at which place, and cancels by id what is of that namespace and has not begun", async () => {
    const queue = open();
    const { begun, add, end } = jobs(queue);
    const running = add("r", "a");
    const refused = add("low", "a", { priority: -1 });
    const kept = add("high", "a", { priority: 1 });
    void add("other", "b");
    const [high, low] = queue.waiting("a");
    expect([high, low]).toMatchObject([
      { requestId: "high", position: 1, priority: 1, kind: "command", sandboxId: null },
      { requestId: "low", position: 2, priority: -1 },
    ]);
    expect(() => queue.cancel("b", low?.id ?? "")).toThrow("unknown waiting job");
    expect(queue.cancel("a", low?.id ?? "")).toEqual(low);
    await expect(refused).rejects.toMatchObject({ code: "conflict" });
    expect(() => queue.cancel("a", low?.id ?? "")).toThrow("unknown waiting job");
    await end("r");
    expect(() => queue.cancel("a", high?.id ?? "")).toThrow("unknown waiting job"); // it has begun
    await end("high");
    await end("other");
    await Promise.all([running, kept]);
    expect(begun).toEqual(["r", "high", "other"]);
  });

  it("[LIF-11] goes by the caller's priority where the job names none, and gives up what nobody waits for", async () => {
    const queue = open();
    const { begun, add, end } = jobs(queue);
    const running = add("r", "a");
    const left = new AbortController();
    const build = (name: string, from: { priority?: number; gone?: AbortSignal }, priority?: number) =>
      queue.with({ caller: { ...callerOf("a", name), ...from }, kind: "build", priority }, async () => {
        begun.push(name);
      });
    const lost = build("lost", { gone: left.signal });
    const all = [build("plain", {}), build("fast", { priority: 5 }), build("own", { priority: 9 }, -9)];
    expect(queue.waiting("a").map(({ requestId }) => requestId)).toEqual(["fast", "lost", "plain", "own"]);
    left.abort(new Error("gone"));
    await expect(lost).rejects.toThrow("gone");
    await expect(build("bad", { priority: 101 })).rejects.toMatchObject({ code: "invalid" });
    await end("r");
    await Promise.all([running, ...all]);
    expect(begun).toEqual(["r", "fast", "plain", "own"]);
  });

  it("[LIF-11] leaves room for others where there are several, and gives all places to one that is alone", async () => {
    for (const [isShared, expected] of [
      [true, [24, 6, 2]],
      [false, [32, 0, 0]],
    ] as const) {
      const { begun, add, end } = jobs(open({ maxConcurrent: 32, isShared: () => isShared }));
      const all = ["a", "b", "c"].flatMap((name) => Array.from({ length: 32 }, (_, at) => add(`${name}${at}`, name)));
      expect(["a", "b", "c"].map((name) => begun.filter((job) => job.startsWith(name)).length)).toEqual(expected);
      for (let at = 0; at < all.length; at++) await end(begun[at] ?? "none");
      await Promise.all(all);
    }
  });

  it("[LIF-11] lets few builds run at once, of all namespaces, and other jobs past those that wait", async () => {
    const queue = open({ maxConcurrent: 8, maxBuilds: 2 });
    const { begun, add, end } = jobs(queue);
    const build = (name: string, namespace: string) => add(name, namespace, { kind: "build" });
    const cancel = new AbortController();
    const all = [build("b1", "a"), build("b2", "b"), build("b3", "a"), build("b4", "b")];
    const given = add("b5", "a", { kind: "build", signal: cancel.signal });
    all.push(add("job", "a"));
    expect(begun).toEqual(["b1", "b2", "job"]);
    expect(queue.status()).toMatchObject({ running: 3, waiting: 3 });
    await end("job"); // leaves no place for a build
    expect(begun.length).toBe(3);
    await end("b2");
    expect(begun.slice(3)).toEqual(["b4"]);
    cancel.abort(new Error("not any more"));
    await expect(given).rejects.toThrow("not any more");
    for (const name of ["b1", "b4", "b3"]) await end(name);
    expect(await Promise.all(all)).toEqual(["b1", "b2", "b3", "b4", "job"]);
    expect(queue.status()).toMatchObject({ running: 0, waiting: 0 });
  });

  it("[LIF-11] serves no namespace twice while another waits with fewer running", async () => {
    const name = fc.constantFrom("a", "b", "c");
    const step = fc.record({ add: fc.option(name), end: fc.nat() });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        fc.array(step, { maxLength: 60 }),
        async (most, shared, steps) => {
          const queue = open({ maxConcurrent: most, isShared: () => shared });
          const running: { namespace: string; end: () => void }[] = [];
          const all: Promise<void>[] = [];
          const check = (namespace: string) => {
            const count = (of: string) => running.filter((job) => job.namespace === of).length;
            expect(running.length).toBeLessThan(most);
            for (const other of Object.keys(queue.status().waitingByNamespace))
              expect(count(namespace)).toBeLessThanOrEqual(count(other));
          };
          for (const { add, end } of steps) {
            if (add !== null) {
              const done = queue.with({ caller: callerOf(add), kind: "command" }, async () => {
                check(add);
                await new Promise<void>((resolve) => running.push({ namespace: add, end: resolve }));
              });
              all.push(done);
            } else if (running.length > 0) running.splice(end % running.length, 1)[0]?.end();
            await new Promise((resolve) => setImmediate(resolve));
          }
          while (running.length > 0) {
            running.pop()?.end();
            await new Promise((resolve) => setImmediate(resolve));
          }
          await Promise.all(all);
        },
      ),
      { numRuns: 50 },
    );
  });
});
