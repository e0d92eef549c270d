import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Containment, EngineName, SandboxLimits, SandboxStats } from "../../core/engine.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineLimits } from "../../core/limits.ts";
import { applyLimits } from "./cgroup-limits.ts";
import type { Controller, Hierarchy } from "./cgroup-mounts.ts";
import { readStats } from "./cgroup-stats.ts";

const PARENT = "caisson";

interface Folder {
  path: string;
  version: 1 | 2;
  controllers: ReadonlySet<string>;
}

/**
 * The cgroups of one sandbox, `caisson/ID` in every hierarchy. The runtime never makes any: it is started inside these.
 * The calls are synchronous: the files are the kernel's and take microseconds.
 */
export class SandboxCgroup {
  readonly #folders: readonly Folder[];
  readonly #id: string;

  constructor(hierarchies: readonly Hierarchy[], id: string) {
    this.#id = id;
    // The one that lists and kills best comes first.
    this.#folders = hierarchies
      .map(({ root, version, controllers }) => ({ path: join(root, PARENT, id), version, controllers }))
      .sort((left, right) => right.version - left.version);
  }

  get paths(): string[] {
    return this.#folders.map(({ path }) => path);
  }

  create(engine: EngineName, limits: SandboxLimits): Map<Containment, string | null> {
    for (const folder of this.#folders) {
      mkdirSync(folder.path, { recursive: true });
      if (folder.version === 2) delegate(folder);
    }
    return applyLimits((controller) => this.#folderOf(controller), engine, limits);
  }

  stats(): SandboxStats {
    return readStats((controller) => this.#folderOf(controller));
  }

  async freeze(): Promise<void> {
    const { file, frozen } = this.#freezer();
    await this.#setFrozen(file, frozen, "FROZEN", "frozen 1");
  }

  async thaw(): Promise<void> {
    const { file, thawed } = this.#freezer();
    await this.#setFrozen(file, thawed, "THAWED", "frozen 0");
  }

  /** Every process that is in any of the sandbox's cgroups. */
  processes(): Set<number> {
    const found = new Set<number>();
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

  /** A frozen process of version 1 dies only when thawed; while frozen, none can fork away from the list. */
  #killOnce(): void {
    const all = this.#folders.find(({ path, version }) => version === 2 && tryWrite(join(path, "cgroup.kill"), "1"));
    const freezer = this.#folderOf("freezer");
    if (freezer !== undefined && all === undefined) tryWrite(join(freezer.path, "freezer.state"), "FROZEN");
    if (all === undefined) for (const pid of this.processes()) killIfThere(pid);
    if (freezer !== undefined) tryWrite(join(freezer.path, "freezer.state"), "THAWED");
  }

  #freezer(): { file: string; frozen: string; thawed: string } {
    const v1 = this.#folderOf("freezer");
    if (v1 !== undefined) return { file: join(v1.path, "freezer.state"), frozen: "FROZEN", thawed: "THAWED" };
    const v2 = this.#folders.find(({ version }) => version === 2);
    if (v2 !== undefined) return { file: join(v2.path, "cgroup.freeze"), frozen: "1", thawed: "0" };
    throw new AppError("unsupported", "this host has no cgroup that can freeze processes");
  }

  async #setFrozen(file: string, value: string, v1: string, v2: string): Promise<void> {
    const state = file.endsWith("cgroup.freeze") ? file.replace(/cgroup\.freeze$/, "cgroup.events") : file;
    const wanted = state === file ? v1 : v2;
    const deadline = Date.now() + engineLimits.killTimeoutMs;
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 20)) {
      // Version 1 may stop half-way, and goes on when asked again.
      writeFileSync(file, value, { flag: "r+" });
      if (readFileSync(state, "utf8").includes(wanted)) return;
      if (Date.now() > deadline) throw new AppError("timeout", `sandbox ${this.#id} does not become ${wanted}`);
      await sleep(pauseMs);
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

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (errnoOf(error) !== "ESRCH") throw error;
  }
}
