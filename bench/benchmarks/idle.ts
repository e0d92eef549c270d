import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { kernelMemory, meminfo, pssByProcess } from "../memory.ts";
import { median, summarize } from "../stats.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const storageBytes = 64 * MiB;
const rounds = 3;
const count: Record<EngineName, { full: number; quick: number }> = {
  container: { full: 100, quick: 30 },
  gvisor: { full: 40, quick: 20 },
};

/** What the machine tells beside MemAvailable, to see where the memory is. */
const kinds = ["AnonPages", "Shmem", "Buffers", "Slab", "KernelStack", "PageTables", "Percpu", "Cached"] as const;

const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);

async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 3; round++) {
    collect();
    await sleep(100);
  }
}

interface Look {
  pss: Map<number, number>;
  memory: Record<string, number>;
}

/** Of some moments the one with most memory free: what others use for a moment is not ours. */
async function look(): Promise<Look> {
  await sleep(1000);
  await collectGarbage();
  let memory = await meminfo();
  for (let moment = 0; moment < 8; moment++) {
    await sleep(250);
    const now = await meminfo();
    if ((now.MemAvailable ?? 0) > (memory.MemAvailable ?? 0)) memory = now;
  }
  return { pss: await pssByProcess(), memory };
}

/** Megabytes of one sandbox, by where they are. */
type Cost = Record<string, number>;

function costOf(before: Look, during: Look, after: Look, many: number): Cost {
  const each = (bytes: number) => bytes / many / 1e6;
  // Others come and go on the machine: what was free before and after stands for what would be free meanwhile.
  const grown = (name: string) => {
    const without = ((before.memory[name] ?? 0) + (after.memory[name] ?? 0)) / 2;
    return each((during.memory[name] ?? 0) - without);
  };
  const fresh = [...during.pss].filter(([pid]) => !before.pss.has(pid)).map(([, bytes]) => bytes);
  const owner = (during.pss.get(process.pid) ?? 0) - (before.pss.get(process.pid) ?? 0);
  const pss = sum(during.pss.values()) - sum(before.pss.values());
  return {
    PSS: each(pss),
    inside: each(sum(fresh)),
    owner: each(owner),
    helper: each(pss - sum(fresh) - owner),
    processes: fresh.length / many,
    MemAvailable: -grown("MemAvailable"),
    ...Object.fromEntries(kinds.map((kind) => [kind, grown(kind)])),
  };
}

async function measure(bench: Workbench, engine: EngineName, many: number): Promise<Cost> {
  const create = () => bench.caisson.createSandbox({ engine, limits: { storageBytes } });
  const before = await look();
  const sandboxes: Sandbox[] = [];
  let during: Look;
  let kernel: { cgroups: number; bytes: number };
  try {
    while (sandboxes.length < many) sandboxes.push(await create());
    during = await look();
    kernel = await kernelMemory([...during.pss.keys()].filter((pid) => !before.pss.has(pid)));
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
  }
  return { ...costOf(before, during, await look(), many), "kernel by cgroup": kernel.bytes / many / 1e6 };
}

export async function idle(bench: Workbench): Promise<void> {
  for (const engine of engines) {
    const many = count[engine][bench.options.quick ? "quick" : "full"];
    await (await bench.caisson.createSandbox({ engine, limits: { storageBytes } })).destroy();
    const costs: Cost[] = [];
    while (costs.length < (bench.options.quick ? 1 : rounds)) costs.push(await measure(bench, engine, many));
    const of = (name: string) => costs.map((cost) => cost[name] ?? 0);
    const show = (name: string) => `${name} ${median(of(name)).toFixed(2)}`;
    const others = ["kernel by cgroup", ...kinds].map(show).join(", ");
    const target = { of: "value" as const, atMost: engine === "container" ? 1.5 : 15 };
    const promised = engine === "container" ? "PSS" : "MemAvailable";
    for (const name of ["PSS", "MemAvailable"])
      bench.add({
        engine,
        what: `${name} of one`,
        unit: "MB",
        ours: summarize(of(name)),
        ...(name === promised ? { target } : {}),
        notes:
          name === "PSS"
            ? [
                `${many} sandboxes of ${storageBytes / MiB} MiB; ${["inside", "owner", "helper", "processes"].map(show).join(", ")}`,
              ]
            : [`beside it, MB each: ${others}`],
      });
  }
}
