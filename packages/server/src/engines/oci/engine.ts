import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Checkpoint, LoadOptions } from "../../core/checkpoint.ts";
import type { DiskRoom } from "../../core/disk-room.ts";
import type {
  AttachedSandbox,
  Changes,
  CopiedOutput,
  CreatedSandbox,
  DiskListener,
  Engine,
  EngineName,
  OutputTarget,
  SandboxLimits,
  SandboxSpec,
  SandboxStats,
  StartOptions,
} from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type { FreezeOptions, LayerId, LayerInfo } from "../../core/layer.ts";
import type { FileWatch } from "../../core/watch.ts";
import { engineLimits } from "../limits.ts";
import { runtimes } from "../runtime.ts";
import { noFolder } from "../server-folders.ts";
import { Checkpoints } from "./checkpoints.ts";
import { copyOutput } from "./copy-output.ts";
import { WorkspaceDisk } from "./disk.ts";
import { findMachine, type Machine, type OciEngineOptions, ownerOf, warn } from "./engine-options.ts";
import { copyVolume, describeLayers, freezeVolume } from "./freeze.ts";
import { HelperClient } from "./helper-client.ts";
import { noSandbox } from "./kept.ts";
import { listCheckpoints, reapCheckpoints } from "./kept-checkpoints.ts";
import { mayPass } from "./launch.ts";
import { reapHolds } from "./layer-holds.ts";
import { LayerMounts } from "./layer-mounts.ts";
import { checkKept, type Live, newLive } from "./live.ts";
import { lookAtFiles } from "./look.ts";
import { MemoryRoom } from "./memory-room.ts";
import { adoptSandbox, destroyUnowned, ownedSandbox, takeSandbox } from "./own.ts";
import type { EngineParts } from "./parts.ts";
import { openCgroup } from "./privilege.ts";
import { reapSandboxes } from "./reap.ts";
import { reapLayers } from "./reap-layers.ts";
import { releaseLayer } from "./release-layer.ts";
import { removeLayer } from "./remove-layer.ts";
import { removePassing } from "./remove-passing.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { resetBoundary } from "./reset.ts";
import { restartBoundary } from "./restart.ts";
import { isSandboxId, newSandboxId } from "./sandbox-folder.ts";
import { describe, forgetUnsaved, saveKept, saveUnsaved, startBoundary } from "./start.ts";
import { stopBoundary } from "./stop.ts";
import { openUidRange } from "./uid-range.ts";
import { reapplyLimits, updateLimits } from "./update-limits.ts";
import { openWatch } from "./watch.ts";
import { DiskWatermark } from "./watermark.ts";

/** gVisor and plain containers are two configurations of this one engine. */
class OciEngine implements Engine {
  readonly name: EngineName;
  readonly #parts: EngineParts;
  readonly #helper: HelperClient;
  readonly #watermark: DiskWatermark;
  readonly #live = new Map<string, Live>();
  readonly #checkpoints: Checkpoints;
  readonly #onError: (error: unknown) => void;

  constructor(options: OciEngineOptions, machine: Machine) {
    const { name, image, guestPath, guestArgs } = options;
    this.name = name;
    this.#onError = options.onError ?? warn;
    this.#helper = new HelperClient(options.helperPath, machine.privilege.helperArguments, {
      onExit: (id, how) => this.#ended(id, how),
      onDeath: (error) => this.#lost(error),
    });
    const onError = this.#onError;
    const disk = new WorkspaceDisk(machine.engineFolder);
    const owner = ownerOf(options, machine.privilege);
    const given = { name, image, guestPath, guestArgs, owner, onLaunch: options.onLaunch };
    const layers = new LayerMounts(machine.engineFolder, this.#helper, onError);
    const memory = new MemoryRoom(options.availableMemoryBytes);
    this.#parts = {
      ...given,
      ...machine,
      runtime: runtimes[name],
      helper: this.#helper,
      disk,
      memory,
      layers,
      onError,
    };
    this.#checkpoints = new Checkpoints(this.#parts, {
      claim: (hasInput) => this.#claim(hasInput),
      destroy: (id) => this.destroy(id).catch(onError),
    });
    const freeBytes = () => disk.freeBytes();
    this.#watermark = new DiskWatermark(freeBytes, () => this.#live.values(), onError);
  }

  async reap(): Promise<void> {
    await reapSandboxes(this.#parts);
    await reapHolds(this.#parts);
    await reapCheckpoints(this.#parts.engineFolder);
    await reapLayers(this.#parts, (id) => this.#live.has(id));
    await removePassing(this.#parts).catch(this.#onError);
  }

  async create(spec: SandboxSpec): Promise<CreatedSandbox> {
    const { folder, outputFolder } = spec;
    if (folder !== undefined) throw noFolder("input", folder); // only an engine's process has a list of them
    if (outputFolder !== undefined) throw noFolder("output", outputFolder);
    for (let tries = 1; ; tries++) {
      const live = await this.#claim(spec.inputFolder !== undefined);
      try {
        return await startBoundary(this.#parts, live, spec);
      } catch (error) {
        await this.destroy(live.id).catch(this.#onError);
        if (tries === engineLimits.startTries || !mayPass(error)) throw error;
      }
    }
  }

  async waitExit(id: string): Promise<string> {
    return this.#find(id).exit.promise;
  }

  async attach(id: string): Promise<AttachedSandbox> {
    const { live, kept } = await adoptSandbox(this.#unowned(id));
    live.settled = kept;
    reapplyLimits(this.#parts, live);
    this.#live.set(id, live);
    return { ...describe(this.#parts, live, kept), paused: kept.paused };
  }

  async detach(id: string): Promise<void> {
    const live = this.#find(id);
    await live.removal?.catch(() => undefined);
    if (this.#live.get(id) !== live) return;
    await this.#cancelLooks(live);
    await live.lastLook;
    saveUnsaved(this.#parts, live);
    await this.#letGo(live, "the sandbox was left to itself");
  }

  stop(id: string): Promise<void> {
    return this.#end(id, (live) => stopBoundary(this.#parts, checkKept(live), false));
  }

  async reset(id: string): Promise<void> {
    await this.#end(id, (live) => resetBoundary(this.#parts, checkKept(live)));
    await removePassing(this.#parts).catch(this.#onError);
  }

  async freeze(id: string, { keep, copy = false, lent = false }: FreezeOptions): Promise<LayerInfo> {
    if (copy) return this.#inTurn(this.#find(id), (live) => copyVolume(this.#parts, live, lent));
    try {
      return await this.#end(id, (live) => freezeVolume(this.#parts, live, keep, lent));
    } catch (error) {
      if (this.#live.get(id)?.record?.kept?.stopped === true) await this.stop(id);
      throw error;
    }
  }

  diskRoom = (): Promise<DiskRoom> => this.#parts.disk.room();
  layers = (): Promise<LayerInfo[]> => describeLayers(this.#parts);
  removeLayer = (id: LayerId): Promise<void> => removeLayer(this.#parts, id);
  releaseLayer = (id: LayerId): Promise<void> => releaseLayer(this.#parts, id);
  restLayer = (id: LayerId): Promise<void> => this.#parts.layers.rest(id);

  async start(id: string, options: StartOptions = {}): Promise<CreatedSandbox> {
    return takeSandbox(this.#unowned(id), async ({ live, kept, isRunning }) => {
      if (isRunning) throw new AppError("conflict", `sandbox ${id} is running`, { hint: "attach to it" });
      this.#live.set(id, live);
      try {
        return await restartBoundary(this.#parts, live, kept, options);
      } catch (error) {
        this.#live.delete(id);
        throw error;
      }
    });
  }

  async destroyKept(id: string): Promise<void> {
    if (this.#live.has(id)) return this.destroy(id);
    await destroyUnowned(this.#unowned(id));
    await removePassing(this.#parts).catch(this.#onError);
  }

  async pause(id: string): Promise<void> {
    const live = this.#find(id);
    const kept = live.record?.kept;
    if (kept != null) saveKept(this.#parts, live, { ...kept, paused: true });
    await live.freezer.hold("caller");
  }

  async resume(id: string): Promise<void> {
    const live = this.#find(id);
    await live.freezer.release("caller");
    const kept = live.record?.kept;
    if (kept != null) saveKept(this.#parts, live, { ...kept, paused: false });
  }

  async updateLimits(id: string, limits: SandboxLimits): Promise<void> {
    updateLimits(this.#parts, this.#find(id), limits);
  }

  watchDisk(id: string, told: DiskListener): void {
    this.#find(id).tellDisk = told;
  }

  async stats(id: string): Promise<SandboxStats> {
    return this.#find(id).cgroup.stats();
  }

  async oomKills(id: string): Promise<number> {
    return this.#find(id).cgroup.oomKills();
  }

  async markFiles(id: string): Promise<void> {
    await this.#look(this.#find(id), false);
  }

  async changedFiles(id: string): Promise<Changes> {
    return this.#look(this.#find(id), true);
  }

  copyOutput(id: string, to: OutputTarget): Promise<CopiedOutput> {
    const live = this.#find(id);
    if ("folder" in to) throw noFolder("output", to.folder);
    const ids = this.#parts.privilege.idArguments(live.base ?? 0);
    return this.#inTurn(live, () => copyOutput(this.#helper, live, ids, to.path));
  }

  async watchFiles(id: string): Promise<FileWatch> {
    const live = this.#find(id);
    const others = [...this.#live.values()].reduce((sum, { watches }) => sum + watches.size, 0);
    live.watched = true;
    const ids = this.#parts.privilege.idArguments(live.base ?? 0);
    return openWatch(this.#helper, live, ids, others, () => live.removal !== undefined || !this.#live.has(id));
  }

  async destroy(id: string): Promise<void> {
    const live = this.#live.get(id);
    if (live === undefined) return;
    await this.#endInTurn(live, () => this.#remove(live));
    if (existsSync(live.folder)) await this.destroyKept(id); // it was being stopped
  }

  async checkpoint(id: string): Promise<Checkpoint> {
    const live = this.#find(id);
    await this.#checkpoints.check(live);
    await this.#cancelLooks(live);
    await live.lastLook;
    return this.#checkpoints.save(live);
  }

  restore = (id: string, checkpoint: string): Promise<void> => this.#checkpoints.restore(this.#find(id), checkpoint);
  createFrom = (checkpoint: string): Promise<CreatedSandbox> => this.#checkpoints.create(checkpoint);
  forgetCheckpoint = (checkpoint: string): Promise<void> => this.#checkpoints.forget(checkpoint);
  keepCheckpoint = (checkpoint: string, key: Buffer): Promise<void> => this.#checkpoints.keep(checkpoint, key);
  loadCheckpoint = (checkpoint: string, key: Buffer, options: LoadOptions = {}): Promise<void> =>
    this.#checkpoints.load(checkpoint, key, options);
  removeCheckpoint = (checkpoint: string): Promise<void> => this.#checkpoints.remove(checkpoint);
  checkpoints = (): Promise<string[]> => listCheckpoints(this.#parts.engineFolder);

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watermark[Symbol.dispose]();
    await Promise.all(
      [...this.#live.values()].map(({ id, record }) => (record?.kept != null ? this.detach(id) : this.destroy(id))),
    );
    await this.#helper[Symbol.asyncDispose]();
    await this.#parts.layers.released();
  }

  /** From here on the folder exists under this owner's lock, and destroy() removes whatever comes to be. */
  async #claim(hasInput: boolean): Promise<Live> {
    const id = newSandboxId();
    const folder = this.#folderOf(id);
    await this.#helper.request("claim", [["folder", folder]]);
    const { privilege, engineFolder } = this.#parts;
    const cgroup = openCgroup(privilege, engineFolder, id, () => this.#live.get(id)?.base);
    const live = newLive(id, folder, cgroup, hasInput);
    this.#live.set(id, live);
    return live;
  }

  /** A kept sandbox that is not this engine's yet. */
  #unowned(id: string) {
    const folder = this.#folderOf(id);
    if (this.#live.has(id)) throw ownedSandbox(id);
    return { ...this.#parts, engine: this.name, id, folder };
  }

  /** Ends a sandbox in the way given, with or without an owner, and gives it up. */
  async #end<T>(id: string, end: (live: Live) => Promise<T>): Promise<T> {
    const live = this.#live.get(id);
    if (live === undefined)
      return takeSandbox(this.#unowned(id), async (found) => {
        const value = await end(found.live);
        await this.#helper.forget(id, found.live.folder);
        return value;
      });
    let done: { value: T } | undefined;
    await this.#endInTurn(live, async () => {
      await this.#cancelLooks(live);
      done = { value: await end(live) };
      await this.#letGo(live, "the sandbox was stopped");
    });
    return done === undefined ? this.#end(id, end) : done.value; // another call had ended it meanwhile
  }

  /** Ends of one sandbox follow one another; who comes late finds it gone. */
  #endInTurn(live: Live, end: () => Promise<void>): Promise<void> {
    const before = live.removal ?? Promise.resolve();
    const turn = before
      .catch(() => undefined)
      .then(() => (this.#live.get(live.id) === live ? end() : undefined))
      .finally(() => {
        if (live.removal === turn) live.removal = undefined;
      });
    live.removal = turn;
    return turn;
  }

  async #letGo(live: Live, why: string): Promise<void> {
    this.#live.delete(live.id);
    live.exit.resolve(why);
    await this.#helper.forget(live.id, live.folder);
  }

  /** A look or a watch under way holds the workspace's mount. */
  async #cancelLooks(live: Live): Promise<void> {
    if (live.looks > 0 || live.watched) await this.#helper.request("cancel", [["id", live.id]]);
  }

  #look(live: Live, compare: boolean): Promise<Changes> {
    const ids = this.#parts.privilege.idArguments(live.base ?? 0);
    return this.#inTurn(live, () => lookAtFiles(this.#helper, live, ids, compare));
  }

  #inTurn<T>(live: Live, act: (live: Live) => Promise<T>): Promise<T> {
    live.looks++;
    const look = live.lastLook
      .then(() => act(live))
      .finally(() => {
        live.looks--;
      });
    live.lastLook = look.catch(() => {});
    return look;
  }

  async #remove(live: Live): Promise<void> {
    const { pool } = this.#parts.privilege;
    forgetUnsaved(live);
    const range = live.base === undefined ? undefined : openUidRange(pool, live.base, live.folder);
    await this.#cancelLooks(live);
    await removeSandbox({ folder: live.folder, cgroup: live.cgroup, range, helper: this.#helper });
    await this.#letGo(live, "the sandbox was destroyed");
    if (live.record?.layers.base != null) await removePassing(this.#parts).catch(this.#onError);
  }

  #folderOf(id: string): string {
    if (!isSandboxId(id)) throw noSandbox(id);
    return join(this.#parts.engineFolder, "sandboxes", id);
  }

  #find(id: string): Live {
    const live = this.#live.get(id);
    if (live === undefined) throw new AppError("not_found", `unknown sandbox ${id}`);
    return live;
  }

  #ended(id: string, how: string): void {
    const live = this.#live.get(id);
    if (live === undefined || live.saved) return;
    const oomKills = live.cgroup.oomKills();
    const memory = oomKills > 0 ? `; the kernel ended ${oomKills} of its processes for the memory limit` : "";
    live.exit.resolve(`the sandbox has ended${how === "" ? "" : ` (${how.replace("=", " ")})`}${memory}`);
  }

  #lost(error: AppError): void {
    for (const { exit } of this.#live.values()) exit.reject(error);
  }
}

export async function createOciEngine(options: OciEngineOptions): Promise<Engine> {
  const engine = new OciEngine(options, await findMachine(options));
  try {
    await engine.reap();
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
  return engine;
}
