import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../daemon.ts";
import { single } from "../line.ts";
import { summarize } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

const path = "/api/v1/sandboxes";
const staggerMs = 200;

interface Attempt {
  id?: string;
  /** From the request for a sandbox to the result of its first command. */
  tookMs: number;
  origin: string;
  error?: unknown;
}

async function attempt({ rest }: Daemon): Promise<Attempt> {
  const startMs = performance.now();
  let made: { id: string; origin: string } | undefined;
  try {
    made = await rest.post<{ id: string; origin: string }>(path);
    const { stdout } = await rest.post<{ stdout: string }>(`${path}/${made.id}/exec`, { command: "echo ready" });
    if (stdout !== "ready\n") throw new Error(`it said ${JSON.stringify(stdout)}`);
    return { ...made, tookMs: performance.now() - startMs };
  } catch (error) {
    return { origin: "", ...made, tookMs: performance.now() - startMs, error };
  }
}

const remove = ({ rest }: Daemon, { id }: Attempt) => (id === undefined ? undefined : rest.delete(`${path}/${id}`));

/** ComputeSDK's three: one after the other, one every 200 ms, all at once. */
const shapes: Record<string, (daemon: Daemon, count: number) => Promise<Attempt[]>> = {
  sequential: async (daemon, count) => {
    const done: Attempt[] = [];
    while (done.length < count) {
      const one = await attempt(daemon);
      done.push(one);
      await remove(daemon, one);
    }
    return done;
  },
  "staggered by 200 ms": async (daemon, count) => {
    const startMs = performance.now();
    const one = async (_: unknown, index: number) => {
      await sleep(Math.max(0, startMs + index * staggerMs - performance.now()));
      const done = await attempt(daemon);
      await remove(daemon, done);
      return done;
    };
    return Promise.all(Array.from({ length: count }, one));
  },
  burst: async (daemon, count) => {
    const done = await Promise.all(Array.from({ length: count }, () => attempt(daemon)));
    for (const one of done) await remove(daemon, one);
    return done;
  },
};

export async function burst(bench: Workbench): Promise<void> {
  const count = bench.options.quick ? 30 : 100;
  const engine = "container" as const;
  await using daemon = await Daemon.start({ home: join(bench.home, "daemon"), engine, poolSize: count });
  for (const [name, shape] of Object.entries(shapes)) {
    await daemon.poolFull();
    const done = await shape(daemon, count);
    const failed = done.filter(({ error }) => error !== undefined);
    for (const { error } of failed.slice(0, 3)) bench.say(`${name}: ${error}`);
    const isPromised = name === "burst";
    const warm = done.filter(({ origin }) => origin === "pool").length;
    bench.add({
      engine,
      what: `${count} ${name}, create and first command`,
      unit: "ms",
      ours: summarize(done.map(({ tookMs }) => tookMs)),
      ...(isPromised ? { target: { of: "value", atMost: 400 } } : {}),
      notes: [`a pool of ${count}; ${warm} of ${count} came from it`],
    });
    bench.add({
      engine,
      what: `${count} ${name}, succeeded`,
      unit: "%",
      ours: single((100 * (count - failed.length)) / count),
      ...(isPromised ? { target: { of: "value", atLeast: 100 } } : {}),
    });
  }
}
