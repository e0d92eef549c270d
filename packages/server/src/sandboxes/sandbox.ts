import { join } from "node:path";
import type { Command } from "../core/command.ts";
import type { CommandHandle } from "../core/command-handle.ts";
import { checkDiskRoom } from "../core/disk-room.ts";
import type {
  Changes,
  Containment,
  CopiedOutput,
  CreatedSandbox,
  EngineName,
  NotEnforced,
  SandboxLimits,
  SandboxSpec,
  SandboxStats,
  StartOptions,
} from "../core/engine.ts";
import type { SandboxFiles } from "../core/file.ts";
import type { Events } from "../core/journal.ts";
import type { FreezeOptions, LayerInfo } from "../core/layer.ts";
import type { RefusalWatch } from "../core/network-refusal.ts";
import type { BackgroundPolicy } from "../core/process.ts";
import type { Redactor } from "../core/redaction.ts";
import { changeLimits } from "../core/request.ts";
import type { CodeRequest, Run, RunLimits, RunRequest, RunResult } from "../core/run.ts";
import type { RunObserver } from "../core/run-observer.ts";
import type { RunRecord } from "../core/run-record.ts";
import type { Adopt } from "../core/wire.ts";
import { Turn } from "../lib/turn.ts";
import { wireLimits } from "../wire/limits.ts";
import { Artifacts } from "./artifacts.ts";
import type { ContextState } from "./code-context.ts";
import { Contexts } from "./contexts.ts";
import { FileTracking } from "./file-tracking.ts";
import { WireFiles } from "./files.ts";
import type { LentFiles } from "./lent-files.ts";
import { OneCommand, type OpenDomains } from "./one-command.ts";
import { openWire } from "./open-wire.ts";
import { pause, resume } from "./pause.ts";
import { Processes } from "./processes.ts";
import { readRunRequest } from "./read-run-request.ts";
import { addSecret, RunTerms } from "./run-terms.ts";
import { SandboxEnding } from "./sandbox-ending.ts";
import type { SandboxParts } from "./sandbox-parts.ts";
import type { SandboxWire } from "./sandbox-wire.ts";
import { type SaveOptions, saveSandbox } from "./save.ts";

/** One boundary with its workspace, and the only handle on it. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly engine: EngineName;
  readonly enforced: Containment[];
  readonly notEnforced: NotEnforced[];
  readonly files: SandboxFiles;
  readonly contexts: Contexts;
  readonly processSlack: number;
  readonly runsWatchMemory: boolean;
  readonly kept: boolean;
  readonly listeners: boolean;
  /** Where its owners keep what they must know of it. */
  readonly ownerFolder: string;
  readonly processes: Processes;
  readonly wire: SandboxWire;
  readonly #parts: SandboxParts;
  readonly #processes: Processes;
  readonly #turn = new Turn();
  readonly #ending: SandboxEnding;
  readonly #tracking: FileTracking;
  readonly #terms: RunTerms;
  #oomKills = 0;

  private constructor(
    created: CreatedSandbox,
    paused: boolean,
    parts: SandboxParts,
    inherited: readonly ContextState[] = [],
  ) {
    this.id = created.id;
    this.engine = created.engine;
    this.kept = created.kept;
    this.listeners = created.listeners;
    this.ownerFolder = created.ownerFolder;
    this.enforced = created.enforced;
    this.notEnforced = created.notEnforced;
    this.processSlack = created.processSlack;
    this.runsWatchMemory = created.runsWatchMemory;
    this.#terms = new RunTerms(created, parts.environment);
    this.#parts = parts;
    this.#tracking = new FileTracking(parts.engine, created.id);
    const processes = new Processes(this, join(created.ownerFolder, "processes"));
    this.contexts = new Contexts(this, inherited);
    const adopt: Adopt = (state, stream) => processes.adopt(state, stream) ?? this.contexts.adopt(state, stream);
    this.wire = openWire(created, paused, parts, adopt);
    void this.wire.lost.then((reason) => processes.loseSandbox(reason));
    const { id, kept, wire } = this;
    this.#ending = new SandboxEnding({ ...parts, id, kept, wire, processes, turn: this.#turn });
    this.files = new WireFiles({
      wire,
      touched: () => this.touchFiles(),
      watchAll: () => parts.engine.watchFiles(created.id),
      redactor: parts.redactor,
    });
    this.processes = processes;
    this.#processes = processes;
  }

  /** Makes the boundary, waits for its guest, tells it its limits. */
  static async create(parts: SandboxParts, spec: SandboxSpec): Promise<Sandbox> {
    const created = await parts.engine.create(spec);
    try {
      const sandbox = new Sandbox(created, false, parts);
      await sandbox.wire.connect();
      return sandbox;
    } catch (error) {
      await parts.engine.destroy(created.id);
      throw error;
    }
  }

  /** Becomes the owner of a kept sandbox. One that is paused stays so, and is not spoken to. */
  static async attach(parts: SandboxParts, id: string): Promise<Sandbox> {
    const attached = await parts.engine.attach(id);
    const sandbox = new Sandbox(attached, attached.paused, parts);
    try {
      sandbox.#oomKills = await parts.engine.oomKills(id);
      await sandbox.#processes.load();
      if (!attached.paused) await sandbox.#connect();
      return sandbox;
    } catch (error) {
      await sandbox.detach();
      throw error;
    }
  }

  /** Runs a kept sandbox again that was stopped or has ended: the same workspace, a new boundary, no process. */
  static async start(parts: SandboxParts, id: string, options: StartOptions = {}): Promise<Sandbox> {
    const sandbox = new Sandbox(await parts.engine.start(id, options), false, parts);
    try {
      await sandbox.#processes.load();
      await sandbox.#connect("the sandbox has ended since");
      return sandbox;
    } catch (error) {
      await sandbox.stop();
      throw error;
    }
  }

  /** Becomes the owner of a copy that runs already: what runs in it, and its contexts, go on. */
  static async copy(
    parts: SandboxParts,
    created: CreatedSandbox,
    inherited: readonly ContextState[],
  ): Promise<Sandbox> {
    const sandbox = new Sandbox(created, false, parts, inherited);
    try {
      await sandbox.#processes.load({ ofCopy: true });
      await sandbox.#connect("it was not copied");
      return sandbox;
    } catch (error) {
      await sandbox.destroy();
      throw error;
    }
  }

  /** Saves memory and files, hands them to `use` while it stands still, and lets it go on. */
  save<T>(options: SaveOptions<T>): Promise<T> {
    const { id, wire, contexts } = this;
    return this.#turn.take(() => saveSandbox({ id, wire, contexts, engine: this.#parts.engine }, options));
  }

  async #connect(why = "the guest does not know it"): Promise<void> {
    await this.wire.connect();
    await this.#processes.giveUpMissing(why);
  }

  /** This sandbox for one command. Names that the command asks for are open while it runs. */
  command(command: Command, openDomains?: OpenDomains): CommandHandle {
    return new OneCommand(this, command, openDomains ?? ((domains) => this.#parts.openRun(this.id, domains)));
  }

  async start(request: RunRequest | CodeRequest): Promise<Run> {
    const { command, io } = readRunRequest(request);
    return this.command(command).start(io);
  }

  async exec(request: RunRequest): Promise<RunResult> {
    return (await this.start(request)).result;
  }

  async executeCode(request: CodeRequest): Promise<RunResult> {
    return (await this.start(request)).result;
  }

  get limits(): SandboxLimits {
    return this.#terms.limits;
  }

  /** For runs from now on, and for the sandbox as a whole at once. Storage cannot change; memory not below what is in use. */
  updateLimits(asked: Partial<SandboxLimits>): Promise<void> {
    return this.#turn.take(async () => {
      const limits = changeLimits(this.id, this.limits, asked);
      await this.#parts.engine.updateLimits(this.id, limits);
      this.#terms.limits = limits;
      this.wire.reconfigure({ memoryBytes: limits.memoryBytes, cold: this.#terms.isTight });
    });
  }

  /** Whether code may run in an interpreter that has started before. */
  get warm(): boolean {
    return this.#terms.warm;
  }

  /** What every run finds in its environment. */
  get environment(): Readonly<Record<string, string>> {
    return { ...this.#parts.trust()?.variables(), ...this.#terms.environment, ...this.#terms.held };
  }

  /** Runs from now on find the value in this variable; it is masked in all that leaves the sandbox. */
  readonly vault_add = (name: string, value: string): void => addSecret(this.#terms, this.#parts.redactor, name, value);

  /** What runs find from now on beside the usual ones, in place of what was set before. A later owner sets it again. */
  setEnvironment(env: Readonly<Record<string, string>>): void {
    this.#terms.setEnvironment(env);
  }

  /** Resolves when the guest has answered. */
  ping(timeoutMs: number = wireLimits.healthTimeoutMs): Promise<void> {
    return this.wire.ping(timeoutMs);
  }

  /** Where runs begin that name no folder. */
  get folder(): string {
    return this.#parts.folder;
  }

  get runLimits(): Readonly<Partial<RunLimits>> {
    return this.#parts.runLimits;
  }

  /** Who watches its runs. */
  get observer(): RunObserver {
    return this.#parts.chronicle;
  }

  get background(): BackgroundPolicy {
    return this.#parts.background;
  }

  /** Takes the values it is told of out of all that leaves this sandbox. */
  get redactor(): Redactor {
    return this.#parts.redactor;
  }

  get events(): Events {
    return this.#parts.chronicle.events(this.id);
  }

  /** What runs left in /workspace/output. */
  get artifacts(): Artifacts {
    return new Artifacts(this, this.#parts.chronicle);
  }

  /** Copies them into a folder of the host that the engine knows by this id. */
  copyOutput(folder: string): Promise<CopiedOutput> {
    return this.#parts.engine.copyOutput(this.id, { folder });
  }

  /** The records of its runs that retention keeps, oldest first; none where they are not kept. */
  runs(): Promise<RunRecord[]> {
    return this.#parts.chronicle.records(this.id);
  }

  readonly stats = (): Promise<SandboxStats> => this.#parts.engine.stats(this.id);

  get paused(): boolean {
    return this.wire.paused;
  }

  /** Freezes every process, and the clocks of their limits. */
  pause(): Promise<void> {
    return this.#turn.take(() => pause(this.id, this.wire, this.#parts.engine));
  }

  /** The guest finds the news of its resumption when it wakes: neither lease nor limits see the time between. */
  resume(): Promise<void> {
    return this.#turn.take(async () => {
      await resume(this.id, this.wire, this.#parts.engine);
      if (!this.wire.connected) await this.#connect();
    });
  }

  readonly checkNotPaused = (): void => this.wire.checkNotPaused();

  /** Resolves with the reason when the sandbox is gone, asked for or not. */
  get lost(): Promise<string> {
    return this.wire.lost;
  }

  /** Whether its end was asked for. */
  get ended(): boolean {
    return this.#ending.asked;
  }

  /** May be called again, and after a failure tries again. */
  destroy(): Promise<void> {
    return this.#ending.destroy();
  }

  /** Ends all that runs in a kept sandbox. Its workspace stays for `Sandbox.start`; this handle is done. */
  stop(): Promise<void> {
    return this.#ending.stop(() => this.#parts.engine.stop(this.id));
  }

  /** As stop, and the workspace is emptied. It goes on as it is where the disk has no room for what comes then (S93). */
  async reset(): Promise<void> {
    await this.checkDisk("a workspace that is made anew");
    await this.#ending.stop(() => this.#parts.engine.reset(this.id));
  }

  /** Refuses what writes to the workspace while the machine's disk cannot keep all promises. */
  readonly checkDisk = async (what: string) => checkDiskRoom(await this.#parts.engine.diskRoom(), what);

  /** As stop, and its workspace becomes a layer: the next start lies on it, or the sandbox is gone unless it is kept. */
  async freeze(options: Omit<FreezeOptions, "copy">): Promise<LayerInfo> {
    const { promise, resolve } = Promise.withResolvers<LayerInfo>();
    await this.#ending.stop(async () => resolve(await this.#parts.engine.freeze(this.id, options)));
    return promise;
  }

  /** Its files for copies. Where it is stopped for that this handle is done, as after `stop`; one that cannot lend them goes on. */
  async lend(stop: boolean): Promise<LentFiles> {
    const { engine } = this.#parts;
    const layer = await engine.freeze(this.id, { keep: true, copy: !stop, lent: true });
    if (stop) await this.#ending.stop(async () => undefined);
    return { layerId: layer.id, release: () => engine.releaseLayer(layer.id) };
  }

  /** Whether its stop was asked for. */
  get stopped(): boolean {
    return this.#ending.stopped;
  }

  /** Leaves a kept sandbox as it is, for a later owner. Runs that nobody can follow then are ended. */
  detach(): Promise<void> {
    return this.#ending.detach();
  }

  /** Resolves when this handle has been detached or the sandbox destroyed by it. */
  get left(): Promise<void> {
    return this.#ending.left;
  }

  /** A kept sandbox is left to its next owner, any other ends. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.kept ? this.detach() : this.destroy();
  }

  /** How many runs are under way. */
  get runsUnderWay(): number {
    return this.#tracking.runs - this.contexts.idle;
  }

  readonly touchFiles = (): void => this.#tracking.touch();

  /**
   * gVisor keeps what it made for a process that has ended for the next one, and that is what takes it longest: so the first
   * upload and the first run find it there.
   */
  async rehearse(): Promise<void> {
    if (this.engine === "gvisor") await Promise.all([this.files.stat("."), this.files.stat(".")]);
  }

  readonly prepare = () => this.#tracking.prepare();

  async beginRun(trackFiles: boolean): Promise<void> {
    if (trackFiles) this.wire.checkUsable(); // its loss is told in its own words
    // Where that fails its gate tells of it, and refuses what should have been looked into.
    await this.#parts
      .trust()
      ?.placed()
      .catch(() => undefined);
    return this.#tracking.begin(trackFiles);
  }

  /** Collects what the network refuses until it is disposed of. */
  readonly watchRefusals = (): RefusalWatch => this.#parts.watchRefusals();

  endRun(trackFiles: boolean): Promise<Changes> {
    return this.#tracking.end(trackFiles);
  }

  /** Whether the kernel ended a process for memory since this was last asked. */
  async oomKilled(): Promise<boolean> {
    const oomKills = await this.#parts.engine.oomKills(this.id);
    const more = oomKills > this.#oomKills;
    this.#oomKills = oomKills;
    return more;
  }
}
