import { readFile, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Checkpoint, LoadOptions } from "../../core/checkpoint.ts";
import type { CreatedSandbox, SandboxSpec } from "../../core/engine.ts";
import { AppError, messageOf } from "../../core/errors.ts";
import { checkpointLimits } from "../../core/fork-limits.ts";
import { Users } from "../../lib/users.ts";
import { limitsAfterStart } from "./cgroup-limits.ts";
import { dropNext, growNext } from "./disk-claims.ts";
import { checkChain, freezeSaved } from "./freeze.ts";
import type { Reply } from "./helper-client.ts";
import { hostPrint } from "./host-print.ts";
import {
  checkpointFolder,
  memoryPath,
  noCheckpoint,
  readCheckpoint,
  removeCheckpoint,
  writeCheckpoint,
} from "./kept-checkpoints.ts";
import { holdLayers, releaseLayers } from "./layer-holds.ts";
import type { Live } from "./live.ts";
import { mostHeldBytes, readSwappedBytes } from "./memory-room.ts";
import type { EngineParts } from "./parts.ts";
import { noLayers } from "./record.ts";
import { removePassing } from "./remove-passing.ts";
import { awaitEnd } from "./remove-sandbox.ts";
import { newSandboxId } from "./sandbox-folder.ts";
import { sealedBytes, sealMemory, unsealMemory } from "./sealed-memory.ts";
import { type Origin, startBoundary } from "./start.ts";

/** Whoever makes and ends sandboxes. */
interface Boundaries {
  claim(hasInput: boolean): Promise<Live>;
  destroy(id: string): Promise<void>;
}

/** A checkpoint as its engine has it: the memory is with the helper, the files are a layer. */
interface Saved {
  /** The helper calls its memory so too. */
  id: string;
  /** The files that the helper has of its memory. */
  memory: readonly string[];
  /** Starts that read its memory. */
  starts: Users;
  spec: SandboxSpec;
  hasInput: boolean;
  origin: Omit<Origin, "revival">;
  /** What whoever goes on from it takes of the machine's memory at once. */
  heldBytes: number;
  /** Of the machine's memory: for what is being saved, and for its sandbox, which must be able to go on. */
  promised?: Disposable;
}

/** The memory and the files of sandboxes at one moment. They end with this engine, but for those that are kept. */
export class Checkpoints {
  readonly #parts: EngineParts;
  readonly #boundaries: Boundaries;
  readonly #saved = new Map<string, Saved>();

  constructor(parts: EngineParts, boundaries: Boundaries) {
    this.#parts = parts;
    this.#boundaries = boundaries;
  }

  async check(live: Live): Promise<void> {
    const { runtime, privilege, name } = this.#parts;
    if (!runtime.savesMemory)
      throw new AppError("unsupported", `the engine ${name} cannot save memory`, { hint: "engine: gvisor" });
    if (privilege.rootless) throw new AppError("unsupported", "only an engine that runs as root can save memory");
    if (live.saved || live.removal !== undefined || live.settled === undefined)
      throw new AppError("conflict", `sandbox ${live.id} is not running`);
    if (live.freezer.held) throw new AppError("conflict", `sandbox ${live.id} is paused`, { hint: "resume it first" });
    this.#checkRoom();
    await checkChain(this.#parts, live);
  }

  /** Whoever calls has checked it, and lets nobody else touch the sandbox. */
  async save(live: Live): Promise<Checkpoint> {
    const id = newSandboxId();
    const about = { spec: specOf(live), hasInput: live.hasInput, origin: await originOf(live), heldBytes: 0 };
    const saved: Saved = { ...newSaved(id), ...about };
    if (live.saved) throw new AppError("conflict", `sandbox ${live.id} is being saved`);
    this.#hold(saved); // it counts from now on: others may be saved meanwhile
    live.saved = true;
    try {
      await this.#parts.disk.reserveNext(live.folder);
      const mostBytes = this.#promise(live, saved);
      const reply = await this.#saveMemory(live, id, mostBytes);
      saved.memory = this.#parts.helper.memoryOf(reply);
      await this.#saveFiles(live, saved);
      return { id, memoryBytes: Number(reply.bytes) };
    } catch (error) {
      live.saved = false;
      await dropNext(live.folder);
      await this.forget(id);
      throw error;
    }
  }

  /** Before the sandbox is touched. The most that its memory may come to: gVisor adds little. */
  #promise({ cgroup }: Live, saved: Saved): number {
    const { limits } = saved.spec;
    saved.heldBytes = mostHeldBytes(cgroup.stats().memoryBytes, limits.memoryBytes, readSwappedBytes());
    const mostBytes = Math.min(checkpointLimits.memoryBytes, saved.heldBytes + checkpointLimits.growthBytes);
    saved.promised = this.#parts.memory.reserve(mostBytes, "saving the memory of a sandbox");
    return mostBytes;
  }

  async #saveMemory(live: Live, id: string, mostBytes: number): Promise<Reply> {
    const { helper, name } = this.#parts;
    const { limits } = specOf(live);
    // What it does from now on is the engine's work; its share of the processors holds again as it goes on.
    live.cgroup.limit(name, { ...limits, cpus: availableParallelism() }, limitsAfterStart);
    try {
      const reply = await helper.request("checkpoint", [
        ["id", live.id],
        ["folder", live.folder],
        ["base", live.base ?? 0],
        ["memory", id],
        ["bytes", mostBytes],
        ["timeoutMs", checkpointLimits.saveTimeoutMs],
      ]);
      await awaitEnd(live);
      return reply;
    } catch (error) {
      live.cgroup.limit(name, limits, limitsAfterStart);
      await helper.request("forget", [["memory", id]]);
      if (live.cgroup.processes().size === 0) live.exit.resolve(`its memory could not be saved: ${messageOf(error)}`);
      throw error;
    }
  }

  /** Where they cannot be saved the sandbox goes on with its own. */
  async #saveFiles(live: Live, saved: Saved): Promise<void> {
    try {
      await growNext(live.folder);
      const base = await freezeSaved(this.#parts, live);
      saved.origin.layers = { ...saved.origin.layers, base };
      await this.#rest(saved);
    } catch (error) {
      await this.restore(live, saved.id);
      throw error;
    }
  }

  /** Its layers stay as long as it is held, whoever goes meanwhile. */
  async #rest({ id, origin: { layers } }: Saved): Promise<void> {
    await holdLayers(this.#parts, id, layers);
    for (const layer of [layers.root, layers.base]) if (layer !== null) await this.#parts.layers.chain(layer);
  }

  async restore(live: Live, id: string): Promise<void> {
    const saved = this.#find(id);
    if (!live.saved) throw new AppError("conflict", `sandbox ${live.id} is running`);
    try {
      await this.#start(live, saved, true);
    } catch (error) {
      live.exit.resolve(`it could not go on: ${messageOf(error)}`);
      throw error;
    } finally {
      saved.promised?.[Symbol.dispose]();
      live.saved = false;
    }
  }

  async create(id: string): Promise<CreatedSandbox> {
    const { hasInput, heldBytes } = this.#find(id);
    using _promised = this.#parts.memory.reserve(heldBytes, "a sandbox that goes on from saved memory");
    const live = await this.#boundaries.claim(hasInput);
    try {
      return await this.#start(live, this.#find(id), false);
    } catch (error) {
      await this.#boundaries.destroy(live.id);
      throw error;
    }
  }

  #start(live: Live, { id, spec, origin, starts }: Saved, inPlace: boolean): Promise<CreatedSandbox> {
    const revival = { memory: id, inPlace };
    return starts.with(() => startBoundary(this.#parts, live, spec, { ...origin, revival }));
  }

  /** Nobody begins with it any more; whoever has begun goes on. */
  async forget(id: string): Promise<void> {
    const saved = this.#saved.get(id);
    if (saved === undefined) return;
    this.#saved.delete(id);
    await saved.starts.none();
    saved.promised?.[Symbol.dispose]();
    await this.#parts.helper.request("forget", [["memory", id]]);
    await releaseLayers(this.#parts, id);
    await removePassing(this.#parts).catch(this.#parts.onError);
  }

  /** Writes it down, sealed with this key: it outlives this engine. */
  async keep(id: string, key: Buffer): Promise<void> {
    const { memory, spec, hasInput, origin, heldBytes } = this.#find(id);
    const { engineFolder, disk } = this.#parts;
    const sizes = await Promise.all(memory.map(async (path) => (await stat(path)).size));
    const host = await hostPrint(this.#parts, origin.layers);
    const kept = { id, spec, hasInput, ...origin, heldBytes, host };
    await writeCheckpoint(engineFolder, kept, (folder) =>
      disk.withRoom(folder, sealedBytes(sizes), () => sealMemory(id, key, memory, memoryPath(folder))),
    );
  }

  /** Brings the memory of a kept one back, for sandboxes to go on from it. */
  async load(id: string, key: Buffer, { unchanged = false, listeners = true }: LoadOptions): Promise<void> {
    const { engineFolder, helper } = this.#parts;
    const { bundle, layers, host, ...kept } = await readCheckpoint(engineFolder, id);
    // What stands on a process of its memory cannot be changed any more.
    if (!listeners && kept.spec.listeners !== false)
      throw new AppError("forbidden", `programs in checkpoint ${id} may listen on ports, which policy now refuses`);
    if (unchanged && host !== (await hostPrint(this.#parts, layers)))
      throw new AppError("unavailable", `programs that checkpoint ${id} needs have changed since it was created`);
    const saved: Saved = { ...kept, ...newSaved(id), origin: { bundle, layers } };
    const sealed = memoryPath(checkpointFolder(engineFolder, id));
    this.#hold(saved);
    try {
      await this.#rest(saved);
      using _promised = this.#parts.memory.reserve(saved.heldBytes, "what is kept of a sandbox's memory");
      saved.memory = helper.memoryOf(await helper.request("hold", [["memory", id]]));
      await unsealMemory(id, key, sealed, saved.memory);
    } catch (error) {
      await this.forget(id);
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    await removeCheckpoint(this.#parts.engineFolder, id);
    await removePassing(this.#parts).catch(this.#parts.onError);
  }

  /** Whoever comes second is told so, and takes nothing away from the first. */
  #hold(saved: Saved): void {
    const { id } = saved;
    if (this.#saved.has(id)) throw new AppError("conflict", `checkpoint ${id} is in use`, { retryAfterMs: 1_000 });
    this.#checkRoom();
    this.#saved.set(id, saved);
  }

  #checkRoom(): void {
    if (this.#saved.size >= checkpointLimits.atOnce)
      throw new AppError("limit_exceeded", `too many checkpoints in use (limit: ${checkpointLimits.atOnce})`, {
        retryAfterMs: 1_000,
      });
  }

  #find(id: string): Saved {
    const saved = this.#saved.get(id);
    if (saved === undefined) throw noCheckpoint(id);
    return saved;
  }
}

function newSaved(id: string): Pick<Saved, "id" | "memory" | "starts"> {
  return { id, memory: [], starts: new Users() };
}

/** As it is now: limits may have changed since its start. */
function specOf({ settled, record }: Live): SandboxSpec {
  if (settled === undefined) throw new AppError("internal", "a sandbox that was never settled");
  const kept = record?.kept ?? undefined;
  return {
    limits: kept?.limits ?? settled.limits,
    warm: settled.warm,
    keep: kept !== undefined,
    listeners: settled.listeners,
    fleet: kept?.fleet ?? false,
  };
}

async function originOf({ folder, record }: Live): Promise<Saved["origin"]> {
  const bundle = await readFile(join(folder, "bundle", "config.json"), "utf8");
  return { bundle, layers: record?.layers ?? noLayers };
}
