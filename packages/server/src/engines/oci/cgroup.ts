import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Containment, EngineName, SandboxLimits, SandboxStats } from "../../core/engine.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineLimits } from "../limits.ts";
import { applyLimits, changeLimits } from "./cgroup-limits.ts";
import type { Controller, Hierarchy } from "./cgroup-mounts.ts";
import { readOomKills, readStats } from "./cgroup-stats.ts";
import { type SliceProcesses, signalIfThere } from "./slice-processes.ts";

const PARENT = "caisson";

interface Folder {
  path: string;
  version: 1 | 2;
  controllers: ReadonlySet<string>;
}

/** How a cgroup is frozen: what is written to which file, and what the kernel then says where. */
interface Freezer {
  file: string;
  words: readonly [thawed: string, frozen: string];
  state: string;
  states: readonly [thawed: string, frozen: string];
}

/**
 * The cgroups of one sandbox, `caisson/ID` in every hierarchy. The runtime never makes any: it is started inside these.
 * The calls are synchronous: the files are the kernel's and take microseconds.
 */
export class SandboxCgroup {
  readonly #folders: readonly Folder[];
  readonly #id: string;
  readonly #slice: SliceProcesses | undefined;

  /** With a slice, what no cgroup of this host can do is done to its processes. */
  constructor(hierarchies: readonly Hierarchy[], id: string, slice?: SliceProcesses) {
    this.#id = id;
    this.#slice = slice;
    // The one that lists and kills best comes first.
    this.#folders = hierarchies
      .map(({ root, version, controllers }) => ({ path: join(root, PARENT, id), version, controllers }))
      .sort((left, right) => right.version - left.version);
  }

  get paths(): string[] {
    return this.#folders.map(({ path }) => path);
  }

  create(): void {
    for (const folder of this.#folders) {
      mkdirSync(folder.path, { recursive: true });
      if (folder.version === 2) delegate(folder);
    }
  }

  limit(engine: EngineName, limits: SandboxLimits, wanted: readonly Containment[]): Map<Containment, string | null> {
    return applyLimits((controller) => this.#folderOf(controller), engine, limits, wanted);
  }

  change(engine: EngineName, from: SandboxLimits, to: SandboxLimits): Map<Containment, string | null> {
    return changeLimits((controller) => this.#folderOf(controller), engine, from, to);
  }

  oomKills(): number {
    return readOomKills((controller) => this.#folderOf(controller));
  }

  stats(): SandboxStats {
    const stats = readStats((controller) => this.#folderOf(controller));
    const use = this.#folderOf("cpu") === undefined ? this.#slice?.use() : undefined;
    return { ...stats, ...use };
  }

  freeze(): Promise<void> {
    return this.#slice !== undefined && this.#freezer() === undefined ? this.#slice.stop() : this.#setFrozen(1);
  }

  async thaw(): Promise<void> {
    if (this.#slice !== undefined && this.#freezer() === undefined) return this.#slice.resume();
    return this.#setFrozen(0);
  }

  /** Every process that is in any of the sandbox's cgroups, or in its slice. */
  processes(): Set<number> {
    const found = new Set<number>(this.#slice?.list());
    for (const { path } of this.#folders) {
      for (const pid of readPids(path)) found.add(pid);
    }
    return found;
  }

  /** Ends every process, forks under way included, and returns when none is left. */
  async kill(): Promise<void> {
    const deadline = Date.now() + engineLimits.killTimeoutMs;
    for (let pauseMs = 1; this.processes().size > 0; pauseMs = Math.min(pauseMs * 2, 20)) {
      if (Date.now() > deadline) {
        throw new AppError("internal", `processes of sandbox ${this.#id} do not end`, {
          details: { pids: [...this.processes()] },
        });
      }
      this.#killOnce();
      await sleep(pauseMs);
    }
  }

  async remove(): Promise<void> {
    const deadline = Date.now() + engineLimits.killTimeoutMs;
    for (const { path } of this.#folders) {
      while (!tryRemove(path)) {
        if (Date.now() > deadline) throw new AppError("internal", `the cgroup ${path} cannot be removed`);
        await sleep(2);
      }
    }
  }

  /**
   * One write ends all of a version 2 cgroup where the kernel can. Elsewhere they are frozen first, so that none forks
   * away from the list; a frozen process of version 1 dies only when thawed.
   */
  #killOnce(): void {
    const v2 = this.#folders.find(({ version }) => version === 2);
    const v1 = this.#folderOf("freezer");
    if (v2 === undefined || !tryWrite(join(v2.path, "cgroup.kill"), "1")) {
      if (v2 !== undefined) tryWrite(join(v2.path, "cgroup.freeze"), "1");
      if (v1 !== undefined) tryWrite(join(v1.path, "freezer.state"), "FROZEN");
      for (const pid of this.processes()) signalIfThere(pid, "SIGKILL");
    }
    for (const pid of this.#slice?.list() ?? []) signalIfThere(pid, "SIGKILL");
    if (v1 !== undefined) tryWrite(join(v1.path, "freezer.state"), "THAWED");
  }

  /** Version 2 where there is one: version 1 can stop half-way for ever. */
  #freezer(): Freezer | undefined {
    const v2 = this.#folders.find(({ path, version }) => version === 2 && existsSync(join(path, "cgroup.freeze")));
    if (v2 !== undefined) {
      const events = join(v2.path, "cgroup.events");
      return {
        file: join(v2.path, "cgroup.freeze"),
        words: ["0", "1"],
        state: events,
        states: ["frozen 0", "frozen 1"],
      };
    }
    const v1 = this.#folderOf("freezer");
    if (v1 === undefined) return undefined;
    const file = join(v1.path, "freezer.state");
    return { file, words: ["THAWED", "FROZEN"], state: file, states: ["THAWED", "FROZEN"] };
  }

  async #setFrozen(wanted: 0 | 1): Promise<void> {
    const freezer = this.#freezer();
    if (freezer === undefined) {
      throw new AppError("unsupported", "no cgroup of this host can freeze processes");
    }
    const { file, words, state, states } = freezer;
    const deadline = Date.now() + engineLimits.killTimeoutMs;
    for (let tries = 1; ; tries++) {
      // What stopped half-way in version 1 goes on when asked again, or when let go for a moment.
      if (tries % 20 === 0) writeFileSync(file, words[0], { flag: "r+" });
      writeFileSync(file, words[wanted], { flag: "r+" });
      if (readFileSync(state, "utf8").includes(states[wanted])) return;
      if (Date.now() > deadline) {
        throw new AppError("timeout", `cannot ${wanted === 1 ? "freeze" : "thaw"} sandbox ${this.#id}`);
      }
      await sleep(Math.min(tries, 10));
    }
  }

  #folderOf(controller: Controller): Folder | undefined {
    return this.#folders.find(({ controllers }) => controllers.has(controller));
  }
}

/** Version 2 hands a controller to a cgroup only when every parent says so. */
function delegate(folder: Folder): void {
  const parent = join(folder.path, "..");
  for (const controller of folder.controllers) {
    for (const level of [join(parent, ".."), parent]) {
      const file = join(level, "cgroup.subtree_control");
      const enabled = readFileSync(file, "utf8").trim().split(/\s+/);
      if (!enabled.includes(controller)) tryWrite(file, `+${controller}`);
    }
  }
}

function readPids(folder: string): number[] {
  try {
    return readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENODEV") return [];
    throw error;
  }
}

/** False where the kernel has no such file or refuses: what then holds is read back, never assumed. */
function tryWrite(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "r+" });
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

function tryRemove(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    if (errnoOf(error) === "EBUSY") return false;
    throw error;
  }
}
