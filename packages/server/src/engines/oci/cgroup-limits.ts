import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Containment, EngineName, SandboxLimits } from "../../core/engine.ts";
import { errnoOf } from "../../core/errors.ts";
import { sandboxLimits } from "../../core/limits.ts";
import type { Controller } from "./cgroup-mounts.ts";
import { readHeldBytes } from "./cgroup-stats.ts";

const PERIOD_US = 100_000;
const PAGE_BYTES = 4096;

/** A file of a cgroup, what is written to it, and whether the limit stands without it. */
interface Setting {
  file: string;
  value: number | string;
  optional?: boolean;
}

interface Limit {
  what: Containment;
  controller: Controller;
  settings: Record<1 | 2, Setting[]>;
}

function describe(engine: EngineName, limits: SandboxLimits): Limit[] {
  const memory = toPages(limits.memoryBytes + sandboxLimits.memoryHeadroomBytes[engine]);
  const pids = limits.processes + sandboxLimits.pidsHeadroom[engine];
  const quota = Math.max(1000, Math.round(limits.cpus * PERIOD_US));
  // The two scales of the kernel: shares 2..262144 and weight 1..10000.
  const weight = Math.round(1 + ((limits.cpuShares - 2) * 9999) / 262_142);
  return [
    {
      what: "memory",
      controller: "memory",
      settings: {
        1: [
          { file: "memory.limit_in_bytes", value: memory },
          { file: "memory.memsw.limit_in_bytes", value: memory, optional: true },
          // Version 1 counts the buffers of TCP apart: they come on top.
          { file: "memory.kmem.tcp.limit_in_bytes", value: toPages(memory / 16), optional: true },
        ],
        2: [
          { file: "memory.max", value: memory },
          { file: "memory.swap.max", value: 0, optional: true },
        ],
      },
    },
    {
      what: "cpu",
      controller: "cpu",
      settings: {
        1: [
          { file: "cpu.cfs_period_us", value: PERIOD_US },
          { file: "cpu.cfs_quota_us", value: quota },
          { file: "cpu.shares", value: limits.cpuShares },
        ],
        2: [
          { file: "cpu.max", value: `${quota} ${PERIOD_US}` },
          { file: "cpu.weight", value: weight },
        ],
      },
    },
    {
      what: "processes",
      controller: "pids",
      settings: { 1: [{ file: "pids.max", value: pids }], 2: [{ file: "pids.max", value: pids }] },
    },
  ];
}

const toPages = (bytes: number) => Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;

/** A small share of a processor would make the start slow: the runtime itself runs in the cgroup. */
export const limitsBeforeStart = ["memory", "processes"] as const;
export const limitsAfterStart = ["cpu"] as const;

type FolderOf = (controller: Controller) => { path: string; version: 1 | 2 } | undefined;
type Outcome = Map<Containment, string | null>;

/** Sets limits and reads them back: what is returned, by kind, is why one does not hold, or null. */
export function applyLimits(
  folderOf: FolderOf,
  engine: EngineName,
  limits: SandboxLimits,
  wanted: readonly Containment[],
): Outcome {
  const outcome: Outcome = new Map();
  for (const { what, controller, settings } of describe(engine, limits)) {
    if (!wanted.includes(what)) continue;
    const folder = folderOf(controller);
    const why = folder === undefined ? absence(controller) : applyAll(folder.path, settings[folder.version]);
    outcome.set(what, why);
  }
  return outcome;
}

const absence = (controller: Controller) => `this host has no ${controller} cgroup`;

/** As applyLimits, of what differs. Memory comes first: it alone can be refused, and then nothing else has changed. */
export function changeLimits(folderOf: FolderOf, engine: EngineName, from: SandboxLimits, to: SandboxLimits): Outcome {
  const outcome: Outcome = new Map();
  const before = describe(engine, from);
  for (const [at, { what, controller, settings }] of describe(engine, to).entries()) {
    const folder = folderOf(controller);
    if (folder === undefined) {
      outcome.set(what, absence(controller));
      continue;
    }
    const old = before[at]?.settings[folder.version] ?? [];
    const changed = settings[folder.version].filter(({ value }, place) => value !== old[place]?.value);
    // Version 1 counts memory and memory with swap apart, and never lets the first limit be above the second.
    if (to.memoryBytes > from.memoryBytes) changed.reverse();
    const inUse = what === "memory" && to.memoryBytes < from.memoryBytes ? findUse(folder, changed) : null;
    outcome.set(what, inUse ?? applyAll(folder.path, changed));
    if (what === "memory" && outcome.get(what) !== null) break;
  }
  return outcome;
}

/** Version 1 refuses a limit below what is in use. Version 2 ends processes for it, and so is not asked. */
function findUse(folder: { path: string; version: 1 | 2 }, settings: readonly Setting[]): string | null {
  if (folder.version === 1) return null;
  const heldBytes = readHeldBytes(folder.path);
  return settings.some(({ value }) => heldBytes > Number(value)) ? `${heldBytes} bytes are in use` : null;
}

function applyAll(folder: string, settings: readonly Setting[]): string | null {
  for (const { file, value, optional } of settings) {
    try {
      const found = writeAndRead(join(folder, file), String(value));
      if (found !== String(value)) return `${file} is ${found}, not ${value}`;
    } catch (error) {
      const absent = errnoOf(error) === "ENOENT" || errnoOf(error) === "EACCES";
      if (!(optional === true && absent)) return `${file} cannot be set (${errnoOf(error) ?? String(error)})`;
    }
  }
  return null;
}

const readBack = Buffer.alloc(64);

function writeAndRead(path: string, text: string): string {
  const file = openSync(path, "r+");
  try {
    writeSync(file, text);
    return readBack.toString("utf8", 0, readSync(file, readBack, 0, readBack.length, 0)).trim();
  } finally {
    closeSync(file);
  }
}
