import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { emitWarning, getegid, geteuid } from "node:process";
import type { Changes, CreatedSandbox, Engine, EngineName, SandboxSpec, SandboxStats } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type { RootImage } from "../../core/image.ts";
import { changeLimits, engineLimits } from "../../core/limits.ts";
import type { FileWatch } from "../../core/watch.ts";
import { findRuntime, type Runtime, runtimes } from "../runtime.ts";
import { makeBundle } from "./bundle.ts";
import { SandboxCgroup } from "./cgroup.ts";
import { limitsAfterStart, limitsBeforeStart } from "./cgroup-limits.ts";
import { parseChanges } from "./changes.ts";
import { WorkspaceDisk } from "./disk.ts";
import { Freezer } from "./freezer.ts";
import { guestWords } from "./guest-words.ts";
import { type Argument, HelperClient } from "./helper-client.ts";
import { launch } from "./launch.ts";
import { findPrivilege, type Privilege } from "./privilege.ts";
import { reapSandboxes } from "./reap.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { explainWithoutCgroups, noStorageLimit } from "./rootless.ts";
import { cgroupName, makeEngineFolders, newSandboxId, readBootId, writeSandboxFiles } from "./sandbox-folder.ts";
import { SliceProcesses } from "./slice-processes.ts";
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

/** What was found on this machine. */
interface Host {
  runtimePath: string;
  engineFolder: string;
  privilege: Privilege;
  bootId: string;
}

interface Live {
  id: string;
  folder: string;
  cgroup: SandboxCgroup;
  freezer: Freezer;
  base: number | undefined;
  /** Whose root is the sandbox's. */
  rootPid: number;
  hasInput: boolean;
  exit: PromiseWithResolvers<string>;
  /** Looks at the files follow one another: each makes the next one's mark. */
  lastLook: Promise<unknown>;
  looks: number;
  watches: Set<string>;
  /** Whether it ever was: a helper leaves a moment after its reader. */
  watched: boolean;
  removal: Promise<void> | undefined;
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
    const freezers = () => [...this.#live.values()].map(({ freezer }) => freezer);
    this.#watermark = new DiskWatermark(() => this.#disk.freeBytes(), freezers, this.#onError);
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
        if (tries === engineLimits.startTries || !passes(error)) throw error;
      }
    }
  }

  async waitExit(id: string): Promise<string> {
    return this.#find(id).exit.promise;
  }

  async pause(id: string): Promise<void> {
    await this.#find(id).freezer.hold("caller");
  }

  async resume(id: string): Promise<void> {
    await this.#find(id).freezer.release("caller");
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
    await Promise.all([...this.#live.keys()].map((id) => this.destroy(id)));
    await this.#helper[Symbol.asyncDispose]();
  }

  /** From here on the folder exists under this owner's lock, and destroy() removes whatever comes to be. */
  async #claim(spec: SandboxSpec): Promise<Live> {
    const id = newSandboxId();
    const folder = join(this.#engineFolder, "sandboxes", id);
    await this.#helper.request("claim", [["folder", folder]]);
    const { hierarchies, pool, rootless } = this.#privilege;
    const slice = rootless ? new SliceProcesses(() => this.#live.get(id)?.base, pool.idsPerSlot) : undefined;
    const cgroup = new SandboxCgroup(hierarchies, cgroupName(this.#engineFolder, id), slice);
    const live: Live = {
      id,
      folder,
      cgroup,
      freezer: new Freezer(cgroup),
      base: undefined,
      rootPid: 0,
      hasInput: spec.inputFolder !== undefined,
      exit: Promise.withResolvers(),
      lastLook: Promise.resolve(),
      looks: 0,
      watches: new Set(),
      watched: false,
      removal: undefined,
    };
    live.exit.promise.catch(() => {});
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
    return {
      id: live.id,
      engine: this.name,
      toGuestPath: join(live.folder, "wire", "to-guest"),
      fromGuestPath: join(live.folder, "wire", "from-guest"),
      guestWatchesMemory: this.#runtime.guestWatchesMemory,
      processSlack: this.#runtime.processSlack,
      runsWatchMemory,
      ...summarise(outcomes),
    };
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
    const record = { id: live.id, engine: this.name, base, createdAt: new Date().toISOString(), kept: false };
    await writeSandboxFiles(live.folder, { ...record, bootId: this.#bootId }, bundle);
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
      .then(() => this.#lookNow(live, compare))
      .finally(() => {
        live.looks--;
      });
    live.lastLook = look.catch(() => {});
    return look;
  }

  async #lookNow(live: Live, compare: boolean): Promise<Changes> {
    const args: Argument[] = [
      ["id", live.id],
      ["folder", live.folder],
      ["pid", live.rootPid],
      ...this.#privilege.idArguments(live.base ?? 0),
      ["files", changeLimits.files],
      ["reported", changeLimits.reported],
      ["depth", changeLimits.depth],
      ["pathBytes", changeLimits.pathBytes],
      ["hashBytes", changeLimits.hashBytes],
      ["timeoutMs", changeLimits.timeoutMs],
    ];
    if (compare) args.push(["compare", 1]);
    if (live.hasInput) args.push(["skip", "input"]);
    const reply = await this.#helper.request("changes", args).catch((error: unknown) => {
      throw new AppError(
        "unavailable",
        `the workspace cannot be looked at: ${error instanceof Error ? error.message : error}`,
        { cause: error },
      );
    });
    const truncated = reply.truncated === "1";
    if (!compare || reply.changes === "0") return { changes: [], truncated };
    return { changes: parseChanges(await readFile(join(live.folder, "changes.out"))), truncated };
  }

  async #remove(live: Live): Promise<void> {
    const range = live.base === undefined ? undefined : openUidRange(this.#privilege.pool, live.base, live.folder);
    // A look or a watch under way holds the workspace's mount.
    if (live.looks > 0 || live.watched) await this.#helper.request("cancel", [["id", live.id]]);
    const remover = this.#privilege.rootless ? this.#helper : undefined;
    await removeSandbox({ folder: live.folder, cgroup: live.cgroup, range, remover });
    await this.#helper.forget(live.id, live.folder);
    live.exit.resolve("the sandbox was destroyed");
    this.#live.delete(live.id);
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

/** runc now and then finds the copy of itself that it just made still open for writing, and starts nothing. */
function passes(error: unknown): boolean {
  return error instanceof Error && error.message.includes("could not ensure we are a cloned binary");
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
