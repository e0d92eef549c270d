import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { single } from "../line.ts";
import { kernelMemory, meminfo, pssByProcess } from "../memory.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const storageBytes = 64 * MiB;
const count: Record<EngineName, { full: number; quick: number }> = {
  container: { full: 100, quick: 30 },
  gvisor: { full: 40, quick: 20 },
};

const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);
const megabytes = (bytes: number) => (bytes / 1e6).toFixed(2);

async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 3; round++) {
    collect();
    await sleep(100);
  }
}

interface Snapshot {
  pss: Map<number, number>;
  memory: Record<string, number>;
}

async function look(): Promise<Snapshot> {
  await collectGarbage();
  return { pss: await pssByProcess(), memory: await meminfo() };
}

async function createMany(bench: Workbench, engine: EngineName, many: number, into: Sandbox[]): Promise<void> {
  const create = async () => into.push(await bench.caisson.createSandbox({ engine, limits: { storageBytes } }));
  while (into.length < many) await Promise.all(Array.from({ length: Math.min(2, many - into.length) }, create));
}

function describe(
  before: Snapshot,
  after: Snapshot,
  many: number,
  kernel: { cgroups: number; bytes: number },
): string[] {
  const fresh = [...after.pss].filter(([pid]) => !before.pss.has(pid));
  const inside = sum(fresh.map(([, bytes]) => bytes)) / many;
  const owner = ((after.pss.get(process.pid) ?? 0) - (before.pss.get(process.pid) ?? 0)) / many;
  const older = sum(
    [...after.pss].map(([pid, bytes]) => (before.pss.has(pid) ? bytes - (before.pss.get(pid) ?? 0) : 0)),
  );
  const delta = (name: string) => megabytes(((after.memory[name] ?? 0) - (before.memory[name] ?? 0)) / many);
  const taken = megabytes(((before.memory.MemAvailable ?? 0) - (after.memory.MemAvailable ?? 0)) / many);
  return [
    `${many} sandboxes, ${fresh.length} processes; PSS each: inside ${megabytes(inside)} MB, owner ${megabytes(owner)} MB, helper ${megabytes(older / many - owner)} MB`,
    `beside it, each: MemAvailable ${taken} MB, kernel memory of ${kernel.cgroups} cgroups ${megabytes(kernel.bytes / many)} MB, slab ${delta("Slab")} MB, stacks ${delta("KernelStack")} MB, page tables ${delta("PageTables")} MB, per-CPU ${delta("Percpu")} MB, page cache ${delta("Cached")} MB`,
    `storage ${storageBytes / MiB} MiB each`,
  ];
}

export async function idle(bench: Workbench): Promise<void> {
  for (const engine of engines) {
    const many = count[engine][bench.options.quick ? "quick" : "full"];
    await (await bench.caisson.createSandbox({ engine, limits: { storageBytes } })).destroy();
    const before = await look();
    const sandboxes: Sandbox[] = [];
    try {
      await createMany(bench, engine, many, sandboxes);
      await sleep(1500);
      const after = await look();
      const fresh = [...after.pss.keys()].filter((pid) => !before.pss.has(pid));
      const notes = describe(before, after, many, await kernelMemory(fresh));
      const pss = (sum(after.pss.values()) - sum(before.pss.values())) / many / 1e6;
      const taken = ((before.memory.MemAvailable ?? 0) - (after.memory.MemAvailable ?? 0)) / many / 1e6;
      const isContainer = engine === "container";
      bench.add({
        engine,
        what: isContainer ? "PSS of one" : "MemAvailable of one",
        unit: "MB",
        ours: single(isContainer ? pss : taken),
        target: { of: "value", atMost: isContainer ? 1.5 : 15 },
        notes,
      });
      bench.add({
        engine,
        what: isContainer ? "MemAvailable of one" : "PSS of one",
        unit: "MB",
        ours: single(isContainer ? taken : pss),
      });
    } finally {
      await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
    }
  }
}
