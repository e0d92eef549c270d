import type {
  Changes,
  Containment,
  CreatedSandbox,
  Engine,
  EngineName,
  NotEnforced,
  SandboxLimits,
  SandboxSpec,
  SandboxStats,
} from "../core/engine.ts";
import { AppError } from "../core/errors.ts";
import type { Events } from "../core/event.ts";
import type { SandboxFiles } from "../core/file.ts";
import { wireLimits } from "../core/limits.ts";
import type { Signer } from "../core/manifest.ts";
import type { CodeRequest, Run, RunLimits, RunRequest, RunResult } from "../core/run.ts";
import type { RunObserver } from "../core/run-observer.ts";
import type { RunRecord } from "../core/run-record.ts";
import type { Wire } from "../core/wire.ts";
import { Artifacts } from "./artifacts.ts";
import { Contexts } from "./contexts.ts";
import { startCode } from "./execute-code.ts";
import { WireFiles } from "./files.ts";
import { observeRun } from "./observe-run.ts";
import { startRun } from "./run.ts";

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable";
}

export interface SandboxParts {
  engine: Engine;
  attach: (created: CreatedSandbox, died: Promise<string>) => Promise<Wire>;
  /** What every run finds in its environment. */
  environment: Readonly<Record<string, string>>;
  /** What a run gets that asks for no limits of its own. */
  runLimits: Readonly<Partial<RunLimits>>;
  watch: SandboxWatch;
}

/** Who is told what happens to a sandbox. */
export interface SandboxWatch extends RunObserver {
  events(sandboxId: string): Events;
  records(sandboxId: string): Promise<RunRecord[]>;
  destroyed(sandboxId: string): Promise<void>;
  signer(): Promise<Signer>;
  signed(sandboxId: string, files: number): void;
}

/** One boundary with its workspace, and the only handle on it. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly engine: EngineName;
  readonly limits: SandboxLimits;
  readonly enforced: Containment[];
  readonly notEnforced: NotEnforced[];
  readonly environment: Readonly<Record<string, string>>;
  readonly files: SandboxFiles;
  readonly contexts: Contexts;
  readonly processSlack: number;
  /** Whether code may run in an interpreter that has started before. */
  readonly warm: boolean;
  readonly runsWatchMemory: boolean;
  readonly wire: Wire;
  readonly #engine: Engine;
  readonly #parts: SandboxParts;
  #destroyed: Promise<void> | undefined;
  #filesMarked = false;
  #runs = 0;
  #oomKills = 0;

  private constructor(created: CreatedSandbox, spec: SandboxSpec, wire: Wire, parts: SandboxParts) {
    this.id = created.id;
    this.engine = created.engine;
    this.limits = spec.limits;
    this.enforced = created.enforced;
    this.notEnforced = created.notEnforced;
    this.environment = parts.environment;
    this.processSlack = created.processSlack;
    this.warm = spec.warm !== "never";
    this.runsWatchMemory = created.runsWatchMemory;
    this.wire = wire;
    this.files = new WireFiles(
      wire,
      () => this.touchFiles(),
      () => parts.engine.watchFiles(created.id),
    );
    this.contexts = new Contexts(this);
    this.#engine = parts.engine;
    this.#parts = parts;
  }

  /** Makes the boundary, waits for its guest, tells it its limits. */
  static async create(parts: SandboxParts, spec: SandboxSpec): Promise<Sandbox> {
    const created = await parts.engine.create(spec);
    try {
      const wire = await parts.attach(created, parts.engine.waitExit(created.id));
      wire.configure({
        leaseMs: wireLimits.leaseMs,
        memoryBytes: spec.limits.memoryBytes,
        watchMemory: created.guestWatchesMemory,
        environment: parts.environment,
        warmIdleMs: wireLimits.warmIdleMs,
        warm: spec.warm === "start" ? ["python", "node"] : [],
      });
      return new Sandbox(created, spec, wire, parts);
    } catch (error) {
      await parts.engine.destroy(created.id);
      throw error;
    }
  }

  start(request: RunRequest): Promise<Run> {
    return observeRun(this.#parts.watch, this.id, request, (observed) => startRun(this, observed));
  }

  async exec(request: RunRequest): Promise<RunResult> {
    return (await this.start(request)).result;
  }

  startCode(request: CodeRequest): Promise<Run> {
    return observeRun(this.#parts.watch, this.id, request, (observed) => startCode(this, observed));
  }

  async executeCode(request: CodeRequest): Promise<RunResult> {
    return (await this.startCode(request)).result;
  }

  get runLimits(): Readonly<Partial<RunLimits>> {
    return this.#parts.runLimits;
  }

  get events(): Events {
    return this.#parts.watch.events(this.id);
  }

  /** What runs left in /workspace/output. */
  get artifacts(): Artifacts {
    const { watch } = this.#parts;
    return new Artifacts({
      sandboxId: this.id,
      files: this.files,
      mostBytes: this.limits.storageBytes,
      signer: () => watch.signer(),
      signed: (files) => watch.signed(this.id, files),
    });
  }

  /** The records of its runs that retention keeps, oldest first; none where they are not kept. */
  runs(): Promise<RunRecord[]> {
    return this.#parts.watch.records(this.id);
  }

  stats(): Promise<SandboxStats> {
    return this.#engine.stats(this.id);
  }

  pause(): Promise<void> {
    return this.#engine.pause(this.id);
  }

  resume(): Promise<void> {
    return this.#engine.resume(this.id);
  }

  /** Resolves with the reason when the sandbox is gone, asked for or not. */
  get lost(): Promise<string> {
    return this.wire.lost;
  }

  /** Whether its end was asked for. */
  get ended(): boolean {
    return this.#destroyed !== undefined;
  }

  /** May be called again, and after a failure tries again. */
  destroy(): Promise<void> {
    this.#destroyed ??= this.#destroy().catch((error) => {
      this.#destroyed = undefined;
      throw error;
    });
    return this.#destroyed;
  }

  async #destroy(): Promise<void> {
    this.wire.close("destroyed");
    await this.#engine.destroy(this.id);
    await this.#parts.watch.destroyed(this.id);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  /** How many runs are under way. */
  get runsUnderWay(): number {
    return this.#runs - this.contexts.idle;
  }

  /** Something may have changed files since they were last looked at. */
  touchFiles(): void {
    this.#filesMarked = false;
  }

  /** Remembers the files as they are before a run, unless the last look still holds. */
  async beginRun(trackFiles: boolean): Promise<void> {
    if (trackFiles && !this.#filesMarked) await this.#mark();
    this.#runs++;
    this.touchFiles();
  }

  /** What changed since the last look. Runs at the same time share it: whoever ends first tells. */
  async endRun(trackFiles: boolean): Promise<Changes> {
    this.#runs--;
    if (!trackFiles) return { changes: [], truncated: false };
    try {
      const changes = await this.#engine.changedFiles(this.id);
      this.#filesMarked = this.#runs === 0;
      return changes;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { changes: [], truncated: true }; // a run is not lost because its workspace cannot be read
    }
  }

  async #mark(): Promise<void> {
    try {
      await this.#engine.markFiles(this.id);
    } catch (error) {
      if (!isUnavailable(error)) throw error; // the look after the run will say that it saw nothing
    }
  }

  /** Whether the kernel ended a process for memory since this was last asked. */
  async oomKilled(): Promise<boolean> {
    const oomKills = await this.#engine.oomKills(this.id);
    const more = oomKills > this.#oomKills;
    this.#oomKills = oomKills;
    return more;
  }
}
