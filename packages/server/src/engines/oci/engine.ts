import { join } from "node:path";
import { emitWarning, getegid, geteuid } from "node:process";
import type {
  AttachedSandbox,
  Changes,
  CreatedSandbox,
  DiskListener,
  Engine,
  EngineName,
  SandboxSpec,
  SandboxStats,
} from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type { RootImage } from "../../core/image.ts";
import { engineLimits } from "../../core/limits.ts";
import type { FileWatch } from "../../core/watch.ts";
import { findRuntime, type Runtime, runtimes } from "../runtime.ts";
import { makeBundle } from "./bundle.ts";
import { limitsAfterStart, limitsBeforeStart } from "./cgroup-limits.ts";
import { WorkspaceDisk } from "./disk.ts";
import { guestWords } from "./guest-words.ts";
import { HelperClient } from "./helper-client.ts";
import { noSandbox } from "./kept.ts";
import { launch, mayPass } from "./launch.ts";
import { type Live, newLive } from "./live.ts";
import { lookAtFiles } from "./look.ts";
import { adoptSandbox, destroyUnowned, ownedSandbox } from "./own.ts";
import { findPrivilege, openCgroup, type Privilege } from "./privilege.ts";
import { reapSandboxes } from "./reap.ts";
import { type KeptRecord, writeRecord } from "./record.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { explainWithoutCgroups, noStorageLimit } from "./rootless.ts";
import {
  isSandboxId,
  makeEngineFolders,
  newSandboxId,
  ownersPaths,
  readBootId,
  writeSandboxFiles,
} from "./sandbox-folder.ts";
import { openUidRange, reserveUidRange } from "./uid-range.ts";
import { summarise, verifyStarted } from "./verify.ts";
import { openWatch } from "./watch.ts";
import { DiskWatermark } from "./watermark.ts";

export interface OciEngineOptions {
  name: EngineName;
  /** The data folder; what the engine keeps lies in `engine/` below it. */
  home: string;
  image: RootImage;
  guestPath: string;
  helperPath: string;
  /** Where the runtime is, if not where system programs live. */
  runtimePath?: string;
  /** Words after the guest's name; for programs that stand in for the guest. */
  guestArgs?: readonly string[];
  /** Who may open the wire; the caller unless named. */
  owner?: { uid: number; gid: number };
  /** Told of what went wrong beside a call's own result; a warning of the process unless given. */
  onError?: (error: unknown) => void;
}

/** What does not change while it lives. */
type Settled = Pick<CreatedSandbox, "limits" | "warm" | "runsWatchMemory" | "enforced" | "notEnforced">;

/** What was found on this machine. */
interface Host {
  runtimePath: string;
  engineFolder: string;
  privilege: Privilege;
  bootId: string;
}

/** gVisor and plain containers are two configurations of this one engine. */
class OciEngine implements Engine {
  readonly name: EngineName;
  readonly #options: OciEngineOptions;
  readonly #runtime: Runtime;
  readonly #runtimePath: string;
  readonly #engineFolder: string;
  readonly #privilege: Privilege;
  readonly #bootId: string;
  readonly #helper: HelperClient;
  readonly #disk: WorkspaceDisk;
  readonly #watermark: DiskWatermark;
  readonly #live = new Map<string, Live>();
  readonly #onError: (error: unknown) => void;

  constructor(options: OciEngineOptions, host: Host) {
    this.name = options.name;
    this.#onError = options.onError ?? warn;
    this.#options = options;
    this.#runtime = runtimes[options.name];
    this.#runtimePath = host.runtimePath;
    this.#engineFolder = host.engineFolder;
    this.#privilege = host.privilege;
    this.#bootId = host.bootId;
    this.#helper = new HelperClient(options.helperPath, host.privilege.helperArguments, {
      onExit: (id, how) => this.#ended(id, how),
      onDeath: (error) => this.#lost(error),
    });
    this.#disk = new WorkspaceDisk(host.engineFolder);
    const live = () => this.#live.values();
    this.#watermark = new DiskWatermark(() => this.#disk.freeBytes(), live, this.#onError);
  }

  reap(): Promise<void> {
    return reapSandboxes({
      engineFolder: this.#engineFolder,
      privilege: this.#privilege,
      helper: this.#helper,
      onError: this.#onError,
    });
  }

  async create(spec: SandboxSpec): Promise<CreatedSandbox> {
    for (let tries = 1; ; tries++) {
      const live = await this.#claim(spec);
      try {
        return await this.#start(live, spec);
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
    const folder = this.#folderOf(id);
    if (this.#live.has(id)) throw ownedSandbox(id);
    const options = { engine: this.name, engineFolder: this.#engineFolder, bootId: this.#bootId };
    const { live, kept } = await adoptSandbox({
      id,
      folder,
      helper: this.#helper,
      privilege: this.#privilege,
      ...options,
    });
    this.#live.set(id, live);
    return { ...this.#describe(live, kept), paused: kept.paused };
  }

  async detach(id: string): Promise<void> {
    const live = this.#find(id);
    if (live.looks > 0 || live.watched) await this.#helper.request("cancel", [["id", id]]);
    await live.lastLook;
    this.#live.delete(id);
    live.exit.resolve("the sandbox was left to itself");
    await this.#helper.forget(id, live.folder);
  }

  async destroyKept(id: string): Promise<void> {
    if (this.#live.has(id)) return this.destroy(id);
    const folder = this.#folderOf(id);
    const engineFolder = this.#engineFolder;
    await destroyUnowned({ id, folder, engineFolder, helper: this.#helper, privilege: this.#privilege });
  }

  async pause(id: string): Promise<void> {
    const live = this.#find(id);
    const kept = live.record?.kept;
    if (kept != null) await this.#writeRecord(live, { ...kept, paused: true });
    await live.freezer.hold("caller");
  }

  async resume(id: string): Promise<void> {
    const live = this.#find(id);
    await live.freezer.release("caller");
    const kept = live.record?.kept;
    if (kept != null) await this.#writeRecord(live, { ...kept, paused: false });
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

  async watchFiles(id: string): Promise<FileWatch> {
    const live = this.#find(id);
    const others = [...this.#live.values()].reduce((sum, { watches }) => sum + watches.size, 0);
    live.watched = true;
    const ids = this.#privilege.idArguments(live.base ?? 0);
    return openWatch(this.#helper, live, ids, others, () => live.removal !== undefined || !this.#live.has(id));
  }

  async destroy(id: string): Promise<void> {
    const live = this.#live.get(id);
    if (live === undefined) return;
    live.removal ??= this.#remove(live).finally(() => {
      live.removal = undefined;
    });
    await live.removal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watermark[Symbol.dispose]();
    await Promise.all(
      [...this.#live.values()].map(({ id, record }) => (record?.kept != null ? this.detach(id) : this.destroy(id))),
    );
    await this.#helper[Symbol.asyncDispose]();
  }

  /** From here on the folder exists under this owner's lock, and destroy() removes whatever comes to be. */
  async #claim(spec: SandboxSpec): Promise<Live> {
    const id = newSandboxId();
    const folder = this.#folderOf(id);
    await this.#helper.request("claim", [["folder", folder]]);
    const cgroup = openCgroup(this.#privilege, this.#engineFolder, id, () => this.#live.get(id)?.base);
    const live = newLive(id, folder, cgroup, spec.inputFolder !== undefined);
    this.#live.set(id, live);
    return live;
  }

  async #start(live: Live, spec: SandboxSpec): Promise<CreatedSandbox> {
    live.cgroup.create();
    const before = live.cgroup.limit(this.name, spec.limits, limitsBeforeStart);
    const [base, workspace] = await bothSettled(this.#writeFiles(live, spec), this.#prepareWorkspace(live, spec));
    const { pid, gofer } = await launch(this.#helper, {
      id: live.id,
      folder: live.folder,
      ids: [...this.#privilege.idArguments(base), ...this.#privilege.mapArguments(base)],
      owner: this.#owner(),
      runtime: this.#runtime,
      runtimePath: this.#runtimePath,
      image: this.#options.image,
      guestPath: this.#options.guestPath,
      cgroupPaths: live.cgroup.paths,
      template: workspace.template,
      spec,
    });
    live.rootPid = this.#runtime.gofer ? gofer : pid;
    const after = live.cgroup.limit(this.name, spec.limits, limitsAfterStart);
    const ids = this.#privilege.pool.idsPerSlot;
    const verified = verifyStarted({ engine: this.name, pid, rootPid: live.rootPid, base, ids });
    const outcomes = new Map([...before, ...after, ...verified, ["storage", workspace.unlimited] as const]);
    const runsWatchMemory = outcomes.get("memory") !== null && !this.#runtime.guestWatchesMemory;
    if (this.#privilege.rootless) explainWithoutCgroups(outcomes, this.#privilege);
    const settled = { limits: spec.limits, warm: spec.warm ?? "never", runsWatchMemory, ...summarise(outcomes) };
    if (spec.keep === true) {
      const { rootPid, hasInput } = live;
      await this.#writeRecord(live, { pid, rootPid, hasInput, ...settled, paused: false });
    }
    return this.#describe(live, settled);
  }

  #describe(live: Live, { limits, warm, runsWatchMemory, enforced, notEnforced }: Settled): CreatedSandbox {
    return {
      id: live.id,
      engine: this.name,
      ...ownersPaths(live.folder),
      guestWatchesMemory: this.#runtime.guestWatchesMemory,
      processSlack: this.#runtime.processSlack,
      limits,
      warm,
      runsWatchMemory,
      kept: live.record?.kept != null,
      enforced,
      notEnforced,
    };
  }

  async #writeRecord(live: Live, kept: KeptRecord): Promise<void> {
    if (live.record === undefined) throw new AppError("internal", `sandbox ${live.id} has no record`);
    const record = { ...live.record, kept };
    await writeRecord(live.folder, record);
    live.record = record;
  }

  /** In the namespace of an ordinary user's helper, that user is root. */
  #owner(): { uid: number; gid: number } {
    if (this.#privilege.rootless) return { uid: 0, gid: 0 };
    return this.#options.owner ?? { uid: geteuid?.() ?? 0, gid: getegid?.() ?? 0 };
  }

  /** The range is recorded before anything could use it. */
  async #writeFiles(live: Live, spec: SandboxSpec): Promise<number> {
    const { base } = await reserveUidRange(this.#privilege.pool, live.folder);
    live.base = base;
    const bundle = makeBundle({
      engine: this.name,
      spec,
      guestArgs: this.#options.guestArgs ?? (await guestWords(this.name)),
    });
    const createdAt = new Date().toISOString();
    const record = { id: live.id, engine: this.name, base, createdAt, bootId: this.#bootId, kept: null };
    await writeSandboxFiles(live.folder, record, bundle, this.#owner());
    live.record = record;
    return base;
  }

  /** An image of the size asked for, or a plain folder and the reason why it has no limit. */
  async #prepareWorkspace(live: Live, spec: SandboxSpec): Promise<{ template?: string; unlimited: string | null }> {
    if (this.#privilege.rootless) {
      await this.#disk.reserve(live.folder, spec.limits.storageBytes);
      return { unlimited: noStorageLimit };
    }
    const unlimited = await this.#disk.unavailable();
    if (unlimited !== null) return { unlimited };
    await this.#disk.reserve(live.folder, spec.limits.storageBytes);
    return { template: await this.#disk.template(spec.limits.storageBytes), unlimited };
  }

  #look(live: Live, compare: boolean): Promise<Changes> {
    live.looks++;
    const look = live.lastLook
      .then(() => lookAtFiles(this.#helper, live, this.#privilege.idArguments(live.base ?? 0), compare))
      .finally(() => {
        live.looks--;
      });
    live.lastLook = look.catch(() => {});
    return look;
  }

  async #remove(live: Live): Promise<void> {
    const range = live.base === undefined ? undefined : openUidRange(this.#privilege.pool, live.base, live.folder);
    // A look or a watch under way holds the workspace's mount.
    if (live.looks > 0 || live.watched) await this.#helper.request("cancel", [["id", live.id]]);
    await removeSandbox({ folder: live.folder, cgroup: live.cgroup, range, helper: this.#helper });
    await this.#helper.forget(live.id, live.folder);
    live.exit.resolve("the sandbox was destroyed");
    this.#live.delete(live.id);
  }

  #folderOf(id: string): string {
    if (!isSandboxId(id)) throw noSandbox(id);
    return join(this.#engineFolder, "sandboxes", id);
  }

  #find(id: string): Live {
    const live = this.#live.get(id);
    if (live === undefined) throw new AppError("not_found", `there is no sandbox ${id}`);
    return live;
  }

  #ended(id: string, how: string): void {
    const live = this.#live.get(id);
    if (live === undefined) return;
    const oomKills = live.cgroup.oomKills();
    const memory = oomKills > 0 ? `; the kernel ended ${oomKills} of its processes for the memory limit` : "";
    live.exit.resolve(`the sandbox has ended${how === "" ? "" : ` (${how.replace("=", " ")})`}${memory}`);
  }

  #lost(error: AppError): void {
    for (const { exit } of this.#live.values()) exit.reject(error);
  }
}

function warn(error: unknown): void {
  emitWarning(error instanceof Error ? error : String(error));
}

/** Both at once; when one fails the other is still waited for, so that nothing goes on behind a removal. */
async function bothSettled<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}

export async function createOciEngine(options: OciEngineOptions): Promise<Engine> {
  const privilege = await findPrivilege();
  if (privilege.rootless && options.owner !== undefined && options.owner.uid !== geteuid?.()) {
    throw new AppError("unsupported", "only root makes sandboxes whose owner is another user");
  }
  const { program } = runtimes[options.name];
  const runtimePath = options.runtimePath ?? (await findRuntime(runtimes[options.name]));
  if (runtimePath === undefined) {
    throw new AppError("unsupported", `${program} is not installed`, { hint: `Install the package ${program}.` });
  }
  const engineFolder = await makeEngineFolders(options.home, privilege.folderMode);
  const engine = new OciEngine(options, { runtimePath, engineFolder, privilege, bootId: await readBootId() });
  try {
    await engine.reap();
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
  return engine;
}
