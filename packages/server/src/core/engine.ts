import type { Checkpoint, LoadOptions } from "./checkpoint.ts";
import type { DiskRoom } from "./disk-room.ts";
import type { FreezeOptions, LayerId, LayerInfo } from "./layer.ts";
import type { FileWatch } from "./watch.ts";

/**
 * An engine makes the boundary of a sandbox, and nothing else. Its interface is message-shaped: ids and plain data, so
 * that it can live in another process than its caller.
 */
export type EngineName = "gvisor" | "container";

/** Limits and boundaries; a result lists each under `enforced` or `not_enforced`. */
export const containments = [
  "user_namespace",
  "network_namespace",
  "read_only_root",
  "no_capabilities",
  "no_new_privileges",
  "seccomp",
  "memory",
  "cpu",
  "processes",
  "storage",
] as const;
export type Containment = (typeof containments)[number];

export interface NotEnforced {
  what: Containment;
  why: string;
}

export interface SandboxLimits {
  memoryBytes: number;
  cpus: number;
  cpuShares: number;
  processes: number;
  storageBytes: number;
}

export interface SandboxSpec {
  limits: SandboxLimits;
  /** Its tree is the read-only root, in place of the host's. */
  root?: LayerId;
  /** Its files are there already: what is written lies over it. */
  base?: LayerId;
  /** A host folder whose files are copied to /workspace/input, read-only, before anything runs. Its path has no link. */
  inputFolder?: string;
  /** The same by the id that the engine's own configuration gives it; of an engine in a process of its own. */
  folder?: string;
  /** The id of the folder that `copyOutput` will name; refused where there is none. */
  outputFolder?: string;
  warm?: WarmChoice;
  /** True when user code may bind sockets and listen. Default: true. */
  listeners?: boolean;
  /** True when it outlives its owner. */
  keep?: boolean;
  /** True when a daemon keeps it and has its record; without a record there it belongs to nobody. */
  fleet?: boolean;
}

/** When interpreters start that wait for code: with the sandbox, after the first code of their language, or never. */
export const warmChoices = ["start", "first-use", "never"] as const;
export type WarmChoice = (typeof warmChoices)[number];

/** Paths of a sandbox's wire. */
export type WirePaths = Pick<CreatedSandbox, "toGuestPath" | "fromGuestPath">;

export interface CreatedSandbox {
  id: string;
  engine: EngineName;
  /** FIFOs of the wire, to be opened read-write by the owner. */
  toGuestPath: string;
  fromGuestPath: string;
  enforced: Containment[];
  notEnforced: NotEnforced[];
  /** The guest must watch the memory limit: the boundary's own guard would take the whole sandbox. */
  guestWatchesMemory: boolean;
  /** No boundary holds the memory limit: each run must be watched for it. */
  runsWatchMemory: boolean;
  /** How many processes more than asked for the boundary lets start. */
  processSlack: number;
  limits: SandboxLimits;
  warm: WarmChoice;
  /** True when its programs may listen. */
  listeners: boolean;
  kept: boolean;
  /** Folder for its owners' records of it; removed with the sandbox. */
  ownerFolder: string;
}

/** A kept sandbox as its new owner finds it. */
export interface AttachedSandbox extends CreatedSandbox {
  /** It stands still, and its guest answers nothing, until it is resumed. */
  paused: boolean;
}

/** A kept sandbox, whoever owns it. One that has ended, unasked, can be started again like one that was stopped. */
export interface KeptSandbox {
  id: string;
  engine: EngineName;
  state: "running" | "paused" | "stopped" | "ended";
  createdAt: string;
  /** A daemon made it. */
  fleet: boolean;
}

/** Settings that a start may change; the others stay as they were. Storage cannot change. */
export interface StartOptions {
  limits?: Partial<SandboxLimits>;
  warm?: WarmChoice;
  /** False: from now on its programs may not listen. */
  listeners?: boolean;
  /** Another root from now on; the workspace stays. */
  root?: LayerId;
}

export interface SandboxStats {
  cpuMs: number;
  memoryBytes: number;
  memoryPeakBytes: number;
  /** Times the kernel ended a process for the memory limit. */
  oomKills: number;
  processes: number;
  ioReadBytes: number;
  ioWriteBytes: number;
}

export type FileAction = "created" | "modified" | "deleted";

export interface FileChange {
  /** Relative to the workspace. Bytes that are not UTF-8 appear as U+FFFD. */
  path: string;
  action: FileAction;
  size_bytes: number;
  /** Null for what is not a readable regular file, and for deleted ones. */
  sha256: string | null;
}

export interface Changes {
  changes: FileChange[];
  /** True when there were more than `changeLimits.reported`. */
  truncated: boolean;
}

/** Target folder: a path without links, or its id in the configuration of an engine in a process of its own. */
export type OutputTarget = { path: string } | { folder: string };

export interface CopiedOutput {
  files: number;
  bytes: number;
  /** Links, devices, odd names, and what could not be read or replaced. */
  skipped: number;
  /** False when a limit cut it short. */
  whole: boolean;
}

export interface EngineProbe {
  engine: EngineName;
  usable: boolean;
  /** Why it is not usable, or the version of the runtime. */
  detail: string;
  hint?: string;
  runtimePath?: string;
}

/** Nearly full, so the sandbox is about to stand still; it does; there is room again, so it is about to go on. */
export type DiskNews = "low" | "standstill" | "room";
export type DiskListener = (news: DiskNews) => Promise<void>;

export interface Engine extends AsyncDisposable {
  readonly name: EngineName;
  create(spec: SandboxSpec): Promise<CreatedSandbox>;
  /** Becomes the owner of a kept sandbox; refused while it has one. Waits for no guest. */
  attach(id: string): Promise<AttachedSandbox>;
  /** Gives a kept sandbox up, running or paused as it is. */
  detach(id: string): Promise<void>;
  /** Ends every process of a kept sandbox, verified, and gives it up; its workspace and its record stay. With or without an owner. */
  stop(id: string): Promise<void>;
  /** Makes a new boundary around the workspace of a kept sandbox that was stopped or has ended, and becomes its owner. */
  start(id: string, options?: StartOptions): Promise<CreatedSandbox>;
  /**
   * As stop; and the next start finds the workspace as it was made: empty or that of its base, without an input folder.
   * Reserves what the next start needs first: without room nothing is stopped or removed (S93).
   */
  reset(id: string): Promise<void>;
  /** Makes the volume of a sandbox a layer, with or without an owner; it is stopped for that and given up, unless copied. */
  freeze(id: string, options: FreezeOptions): Promise<LayerInfo>;
  /** The disk that all engines of the data folder share. */
  diskRoom(): Promise<DiskRoom>;
  /** Lists the layers of the data folder, whichever engine froze them. */
  layers(): Promise<LayerInfo[]>;
  /** Refused while a sandbox or another layer needs it. */
  removeLayer(id: LayerId): Promise<void>;
  /** Releases a layer made for copies: it is removed, now or with the last sandbox that needs it. Idempotent. */
  releaseLayer(id: LayerId): Promise<void>;
  /** Holds nothing more of a layer that no running sandbox lies on; the next use brings it back, checked again. Idempotent. */
  restLayer(id: LayerId): Promise<void>;
  /** Resolves when the boundary's own process has ended, for whatever reason, with a sentence that says what is known. */
  waitExit(id: string): Promise<string>;
  pause(id: string): Promise<void>;
  resume(id: string): Promise<void>;
  /** Changes what a running sandbox may use, all of it or nothing. Memory below what it uses is refused; storage cannot change. */
  updateLimits(id: string, limits: SandboxLimits): Promise<void>;
  /** Whom to tell of the host's disk. The engine waits for the answer. */
  watchDisk(id: string, told: DiskListener): void;
  stats(id: string): Promise<SandboxStats>;
  /** How many processes the kernel has ended for their memory. Every run asks at its end. */
  oomKills(id: string): Promise<number>;
  /** Remembers the workspace as it is now. */
  markFiles(id: string): Promise<void>;
  /** Returns the differences from the last mark; the state found becomes the new mark. */
  changedFiles(id: string): Promise<Changes>;
  /** Copies the files of /workspace/output into a folder named for the sandbox, below the place, with its owner's rights. */
  copyOutput(id: string, to: OutputTarget): Promise<CopiedOutput>;
  /** Follows the whole workspace from now on, links not followed. */
  watchFiles(id: string): Promise<FileWatch>;
  /** Ends every process, and removes workspace, cgroups, FIFOs and folders; verified. Idempotent. */
  destroy(id: string): Promise<void>;
  /** The same for a kept sandbox that has no owner, whatever became of it. */
  destroyKept(id: string): Promise<void>;
  /**
   * Saves memory and files of a running sandbox, which stands still from then on until it is restored or destroyed. Where
   * it fails the sandbox may be lost: its exit tells. Of gVisor alone.
   */
  checkpoint(id: string): Promise<Checkpoint>;
  /** Lets the sandbox go on that was checkpointed, at the same wire. */
  restore(id: string, checkpoint: string): Promise<void>;
  /** A new sandbox with the memory and the files of the checkpoint, and of the same kind. */
  createFrom(checkpoint: string): Promise<CreatedSandbox>;
  /** Gives up what was saved, but for what is kept. Idempotent. */
  forgetCheckpoint(checkpoint: string): Promise<void>;
  /** Writes it down, its memory sealed with this key of 32 bytes, which seals nothing else. */
  keepCheckpoint(checkpoint: string, key: Buffer): Promise<void>;
  /** Brings one that is kept back, for `createFrom`; `forgetCheckpoint` gives its memory up again. */
  loadCheckpoint(checkpoint: string, key: Buffer, options?: LoadOptions): Promise<void>;
  /** Removes a kept checkpoint. Idempotent. */
  removeCheckpoint(checkpoint: string): Promise<void>;
  /** The ids of those that are kept. */
  checkpoints(): Promise<string[]>;
}
