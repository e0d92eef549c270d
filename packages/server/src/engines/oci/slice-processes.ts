import { readdirSync, readFileSync } from "node:fs";
import { kill } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineLimits } from "../limits.ts";

const CLOCK_TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/**
 * The processes of an ordinary user's sandbox, without a cgroup that lists them: those whose user namespace maps ids of
 * the sandbox's slice and no others. They may leave neither, and nobody else has such a namespace.
 */
export class SliceProcesses {
  readonly #base: () => number | undefined;
  readonly #count: number;

  /** The slice may not be known yet: before that there is no process. */
  constructor(base: () => number | undefined, count: number) {
    this.#base = base;
    this.#count = count;
  }

  list(): number[] {
    const base = this.#base();
    if (base === undefined) return [];
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && this.#isInside(readIfThere(`/proc/${name}/uid_map`), base))
      .map(Number)
      .filter((pid) => !["Z", "X", ""].includes(stateOf(pid)));
  }

  /** Returns when every process stands: one that forks meanwhile is met in the next round. */
  async stop(): Promise<void> {
    const deadline = Date.now() + engineLimits.killTimeoutMs;
    for (let pauseMs = 1, still = 0; still < 2; pauseMs = Math.min(pauseMs * 2, 20)) {
      const moving = this.list().filter((pid) => !["T", "t"].includes(stateOf(pid)));
      still = moving.length === 0 ? still + 1 : 0;
      for (const pid of moving) signalIfThere(pid, "SIGSTOP");
      if (Date.now() > deadline) throw new AppError("timeout", "the sandbox cannot be stopped");
      if (still < 2) await sleep(pauseMs);
    }
  }

  resume(): void {
    for (const pid of this.list()) signalIfThere(pid, "SIGCONT");
  }

  /** Of the processes that are there; those that ended count with the parent that waited for them. */
  use(): { cpuMs: number; memoryBytes: number; processes: number } {
    const pids = this.list();
    let ticks = 0;
    let pages = 0;
    for (const pid of pids) {
      const fields = statFields(pid);
      for (const field of fields.slice(11, 15)) ticks += Number(field);
      pages += Number(fields[21] ?? 0);
    }
    const cpuMs = Math.round((ticks * 1000) / CLOCK_TICKS_PER_SECOND);
    return { cpuMs, memoryBytes: pages * PAGE_BYTES, processes: pids.length };
  }

  #isInside(map: string, base: number): boolean {
    const lines = map.split("\n").filter((line) => line.trim() !== "");
    return lines.length > 0 && lines.every((line) => this.#isLineInside(line, base));
  }

  #isLineInside(line: string, base: number): boolean {
    const [, first = -1, count = 0] = line.trim().split(/\s+/).map(Number);
    return first >= base && first + count <= base + this.#count;
  }
}

/** The fields of /proc/PID/stat from the state on: a name may hold anything. */
function statFields(pid: number): string[] {
  const text = readIfThere(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function stateOf(pid: number): string {
  return statFields(pid)[0] ?? "";
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return "";
  }
}

export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal);
  } catch (error) {
    if (errnoOf(error) !== "ESRCH") throw error;
  }
}
