import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { Daemon } from "../daemon.ts";
import { truePath } from "../machine.ts";
import { type RestAnswer, toJson } from "../rest.ts";
import { median, summarize, timeMs } from "../stats.ts";
import { engines, type Workbench } from "../workbench.ts";

const poolSize = 8;
const warmUpCalls = 300;
const warmUpAllocations = { quick: 8, whole: 100 } as const;
const path = "/api/v1/sandboxes";

interface Allocation {
  id: string;
  answer: RestAnswer;
}

/** One from the pool: any other way is no allocation, and the benchmark says so. */
async function allocate({ rest }: Daemon): Promise<Allocation> {
  const answer = await rest.call("POST", path, {});
  const { id, origin } = toJson<{ id: string; origin: string }>(answer);
  if (origin !== "pool") throw new Error(`a sandbox came ${origin}`);
  return { id, answer };
}

/** A daemon that has been at work: the first hundreds of calls run code that V8 has not compiled yet. */
async function warmUp(daemon: Daemon): Promise<void> {
  const { id } = await allocate(daemon);
  for (let call = 0; call < warmUpCalls; call++)
    await daemon.rest.post(`${path}/${id}/exec`, { command: [truePath], track_files: false });
  await daemon.rest.delete(`${path}/${id}`);
  await daemon.poolFull();
}

/** How long until an allocated sandbox is gone and another waits in its place. */
async function replaceMs(daemon: Daemon): Promise<number> {
  const { id } = await allocate(daemon);
  return timeMs(async () => {
    await daemon.rest.delete(`${path}/${id}`);
    await daemon.poolFull();
  });
}

const until = (dueMs: number) => sleep(Math.max(0, dueMs - performance.now()));

/** Allocations at that rate, and between each two of them the least that the daemon can be asked. */
async function paced(
  daemon: Daemon,
  count: number,
  everyMs: number,
): Promise<{ answers: RestAnswer[]; bare: number[] }> {
  const answers: RestAnswer[] = [];
  const bare: number[] = [];
  const removals: Promise<void>[] = [];
  for (let index = 0, due = performance.now(); index < count; index++, due += everyMs) {
    await until(due);
    const { id, answer } = await allocate(daemon);
    answers.push(answer);
    removals.push(daemon.rest.delete(`${path}/${id}`));
    await until(due + everyMs / 2);
    bare.push((await daemon.rest.call("GET", "/healthz")).tookMs);
  }
  await Promise.all(removals);
  return { answers, bare };
}

async function measure(bench: Workbench, engine: EngineName): Promise<void> {
  await using daemon = await Daemon.start({ home: join(bench.home, engine), engine, poolSize });
  await daemon.poolFull();
  await warmUp(daemon);
  const replaced: number[] = [];
  const allocations = warmUpAllocations[bench.options.quick ? "quick" : "whole"];
  while (replaced.length < allocations) replaced.push(await replaceMs(daemon));
  // As often as the pool can follow with all else that allocations bring; a little less, so that it never runs dry.
  const everyMs = 1.25 * median(replaced);
  const { answers, bare } = await paced(daemon, bench.options.quick ? 30 : 100, everyMs);
  const ours = summarize(answers.map(({ tookMs }) => tookMs));
  const line = { engine, unit: "ms", ours } as const;
  const notes = [
    `one every ${everyMs.toFixed(0)} ms while the pool of ${poolSize} is refilled and the last is destroyed; after ${warmUpCalls} calls and ${allocations} allocations`,
  ];
  bench.add({
    ...line,
    what: "from the pool, p50",
    bare: summarize(bare),
    bareWhat: "GET /healthz of the same daemon with the same client, between the allocations",
    target: { of: "value", atMost: 5 },
    notes,
  });
  bench.add({ ...line, what: "from the pool, p99", target: { of: "p99", atMost: 15 } });
  bench.add({
    ...line,
    what: "from the pool, server side",
    ours: summarize(answers.map(({ serverMs }) => serverMs)),
    notes: ["by its Server-Timing: from the head of the request to the head of the answer"],
  });
  bench.add({
    ...line,
    what: "from the pool, server side, without HTTP",
    ours: summarize(answers.map(({ actMs }) => actMs)),
    notes: ["the same from when the request was understood until the sandbox is handed over and in the audit log"],
  });
}

export async function restAllocate(bench: Workbench): Promise<void> {
  for (const engine of engines) await measure(bench, engine);
}
