import type { FleetCheckpoints } from "./checkpoint.ts";
import type { Command } from "./command.ts";
import type { CommandHandle } from "./command-handle.ts";
import type { CommandPolicy } from "./command-policy.ts";
import type { PolicyDraft } from "./egress-policies.ts";
import type { SandboxLimits, SandboxStats, WarmChoice } from "./engine.ts";
import type { Fork, ForkRequest } from "./fork.ts";
import type { ChosenImage } from "./image-record.ts";
import type { LayerInfo } from "./layer.ts";
import type { Caller } from "./principal.ts";
import type { EngineChoice } from "./request.ts";
import type { SandboxQuery, SandboxRecord } from "./sandbox-record.ts";
import type { ReadyTemplate, TemplateMemory } from "./template.ts";

/** Settings of a fleet. */
export interface FleetSettings {
  engine: EngineChoice;
  /** For whoever names none. */
  image: string;
  /** Storage that is not given follows from the disk. */
  limits: Partial<SandboxLimits>;
  idleTimeoutMs: number;
  lifetimeMs: number;
  /** No sandbox lives longer. */
  maxLifetimeMs: number;
  /** Runs and cold starts at the same time. */
  maxConcurrent: number;
  /** Size of the pool of each image and engine; 0 turns pools off. */
  poolSize: number;
  /** How long nobody has asked for anything before the next one for a pool is started; the usual time unless given. */
  poolQuietMs?: number;
  commands: CommandPolicy;
  /** For whoever names no time. */
  keepArtifactsMs: number;
  /** Boundaries that are made at the same time. */
  startsAtOnce: number;
  /** Share of the disk that one namespace may hold, in percent of what can be promised. */
  namespaceStoragePercent: number;
}

export interface CreateRequest {
  image?: string;
  /** Says what image, engine and files it has; what else is asked for goes before what the template says. */
  template?: string;
  engine?: EngineChoice;
  limits?: Partial<SandboxLimits>;
  env?: Readonly<Record<string, string>>;
  labels?: Readonly<Record<string, string>>;
  description?: string;
  sessionKey?: string;
  idleTimeoutMs?: number;
  lifetimeMs?: number;
  warm?: WarmChoice;
  /** Higher goes first in the queue, within its namespace. */
  priority?: number;
  /** Files of this snapshot are its workspace. */
  snapshotId?: string;
  /** The id of a folder that the operator named; its files are /workspace/input, read-only. */
  inputFolder?: string;
  /** Likewise of one into which /workspace/output is copied when it is stopped, reset or destroyed. */
  outputFolder?: string;
  /** How long what it left in /workspace/output is kept once it is destroyed; 0: not at all. */
  keepArtifactsMs?: number;
  /** Network policy of the sandbox, on top of its namespace's policy. */
  network?: PolicyDraft;
  /** The root of a hosted server's sandbox, in place of an image of the catalogue. */
  root?: ChosenImage;
  /** A template is made in it: it gets no secrets, and only those who may make templates find it (S79). */
  forTemplate?: boolean;
}

export interface Created {
  record: SandboxRecord;
  /** False when a session had this sandbox already. */
  isNew: boolean;
}

/** Creates a sandbox, or returns the one of its session. An image that is missing is made first, where it can be. */
export type CreateSandbox = (caller: Caller, request: CreateRequest) => Promise<Created>;

export interface SandboxChanges {
  /** All of its variables, for what starts from then on. */
  env?: Readonly<Record<string, string>>;
  labels?: Readonly<Record<string, string>>;
  description?: string;
  idleTimeoutMs?: number;
  lifetimeMs?: number;
  limits?: Partial<Omit<SandboxLimits, "storageBytes">>;
}

/** How a command waits for its turn and is reported. Nothing of it decides what runs. */
export interface JobOptions {
  /** Higher goes first in the queue, within its namespace. */
  priority?: number;
  /** The caller hears of it before it ends: the log says that it started before `act` is called. */
  streams?: boolean;
  /** Gives its place in the queue up; what runs already is ended by whoever started it. */
  signal?: AbortSignal;
}

/** How the sandbox of a hosted server starts. */
export interface ServeOptions {
  /** The version's code. A running sandbox is stopped where this is another root than it has; its workspace stays. */
  root: ChosenImage;
  /** True: it gets the secrets of its server. */
  secrets: boolean;
}

export interface PoolStatus {
  image: string;
  engine: string;
  size: number;
  ready: number;
  starting: number;
  hits: number;
  misses: number;
  /** Age of the oldest ready sandbox; null when there is none. */
  oldestAgeMs: number | null;
}

export interface QueueStatus {
  running: number;
  waiting: number;
  maxConcurrent: number;
  maxWaiting: number;
  waitingByNamespace: Readonly<Record<string, number>>;
}

/** Purposes of jobs. */
export const queuedKinds = [
  "create",
  "start",
  "fork",
  "checkpoint",
  "restore",
  "build",
  "command",
  "code",
  "process",
  "context",
] as const;
export type QueuedKind = (typeof queuedKinds)[number];

/** A job that waits. */
export interface QueuedJob {
  /** Id of the job; for a run, the run's id. */
  id: string;
  kind: QueuedKind;
  /** Null for one that is to make a sandbox, or needs none. */
  sandboxId: string | null;
  requestId: string;
  priority: number;
  /** In its namespace's own line; 1 is the next one. */
  position: number;
  waitingMs: number;
}

/** Actions of a fleet that builds of templates use. */
export interface TemplateBench {
  /** Stops a sandbox, and makes its files a layer that it goes on with. */
  freeze(caller: Caller, id: string): Promise<LayerInfo>;
  /** Runs the warm-up and saves what it left in memory, where that can be. One that fails rejects. */
  prime(template: ReadyTemplate, signal: AbortSignal): Promise<TemplateMemory>;
  /** Gives up what was saved. */
  forget(templateId: string): Promise<void>;
  /** Destroys a sandbox that a template was made in, where it is still there. */
  discard(id: string): Promise<void>;
}

/** Every sandbox of a daemon. A caller sees those of its own namespace, and others do not exist for it. */
export interface Fleet<Handle> {
  get(caller: Caller, id: string): Promise<SandboxRecord>;
  list(caller: Caller, query: Omit<SandboxQuery, "namespace">): Promise<SandboxRecord[]>;
  change(caller: Caller, id: string, changes: SandboxChanges): Promise<SandboxRecord>;
  start(caller: Caller, id: string): Promise<SandboxRecord>;
  stop(caller: Caller, id: string): Promise<SandboxRecord>;
  pause(caller: Caller, id: string): Promise<SandboxRecord>;
  resume(caller: Caller, id: string): Promise<SandboxRecord>;
  /** Its workspace is emptied; what runs in it ends. */
  reset(caller: Caller, id: string): Promise<SandboxRecord>;
  /** Copies of it, which are the caller's as if it had created them; all of them or none. */
  fork(caller: Caller, id: string, request: ForkRequest): Promise<Fork>;
  readonly checkpoints: FleetCheckpoints;
  destroy(caller: Caller, id: string): Promise<void>;
  /** Lends the running sandbox, started or resumed if need be. While lent it is not idle. */
  use<T>(caller: Caller, id: string, act: (sandbox: Handle) => Promise<T>): Promise<T>;
  /**
   * As `use`, for a command: refused by the command policy or a full queue, and in the audit log, with its exit code, before
   * this resolves. `act` gets the sandbox for this command alone.
   */
  run<T extends object>(
    caller: Caller,
    id: string,
    command: Command,
    options: JobOptions,
    act: (sandbox: CommandHandle) => Promise<T>,
  ): Promise<T>;
  stats(caller: Caller, id: string): Promise<SandboxStats>;
  /** A place in the queue for the making of an image; rejects at once when it is full. */
  build<T>(caller: Caller, signal: AbortSignal, act: () => Promise<T>): Promise<T>;
  /** Returns the namespace that owns it; undefined for one that waits in a pool, or is gone. */
  namespaceOf(id: string): string | undefined;
  pools(): PoolStatus[];
  queue(): QueueStatus;
  /** The caller's namespace's, in the order of their turns. */
  waiting(caller: Caller): QueuedJob[];
  /** Starts a sandbox of the caller's hosted server. */
  serve(caller: Caller, id: string, options: ServeOptions): Promise<SandboxRecord>;
  /** Sandboxes of all hosted servers. */
  ofServers(): SandboxRecord[];
  /** Cancels a waiting job; its caller gets an error. A job that has begun is not found. */
  cancel(caller: Caller, jobId: string): QueuedJob;
}
