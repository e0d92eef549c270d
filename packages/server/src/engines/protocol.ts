/**
 * What goes over the engine's socket: JSON, one message a line. The list of verbs is closed, and every argument is an id
 * that the engine issued or its configuration gave, a number in its range or a word of a list: no path, no command line (S22).
 */

import type { Checkpoint, LoadOptions } from "../core/checkpoint.ts";
import type { Check as HostCheck } from "../core/diagnosis.ts";
import type { DiskRoom } from "../core/disk-room.ts";
import type {
  AttachedSandbox,
  Changes,
  CopiedOutput,
  CreatedSandbox,
  DiskNews,
  EngineName,
  EngineProbe,
  KeptSandbox,
  SandboxLimits,
  SandboxSpec,
  SandboxStats,
  StartOptions,
} from "../core/engine.ts";
import { warmChoices } from "../core/engine.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";
import { folderId } from "../core/folder.ts";
import { type FreezeOptions, type LayerInfo, layerId } from "../core/layer.ts";
import { requestLimits } from "../core/limits.ts";
import { type EngineChoice, engineChoices } from "../core/request.ts";
import { type Check, flag, matching, oneOf, optional, shape, within } from "../core/shape.ts";
import type { FileEvent } from "../core/watch.ts";

export const protocolVersion = 1;

/** Where its FIFOs are is known to whoever sees the engine's folder, by the sandbox's id. */
type WithoutPaths<S> = Omit<S, "toGuestPath" | "fromGuestPath" | "ownerFolder">;
type RemoteSpec = Omit<SandboxSpec, "inputFolder">;

interface OfSandbox {
  engine: EngineName;
  id: string;
}

interface OfCheckpoint {
  engine: EngineName;
  checkpoint: string;
}

/** Of each verb what it takes and what it answers. */
interface Verbs {
  choose: [{ choice: EngineChoice }, EngineName];
  kept: [Record<never, never>, KeptSandbox[]];
  engineOfKept: [{ id: string }, EngineName | null];
  searchPath: [Record<never, never>, string];
  probe: [Record<never, never>, EngineProbe[]];
  checkHost: [Record<never, never>, HostCheck[]];
  create: [{ engine: EngineName; spec: RemoteSpec }, WithoutPaths<CreatedSandbox>];
  attach: [OfSandbox, WithoutPaths<AttachedSandbox>];
  detach: [OfSandbox, null];
  stop: [OfSandbox, null];
  start: [OfSandbox & { options: StartOptions }, WithoutPaths<CreatedSandbox>];
  reset: [OfSandbox, null];
  freeze: [OfSandbox & { options: FreezeOptions }, LayerInfo];
  diskRoom: [{ engine: EngineName }, DiskRoom];
  layers: [{ engine: EngineName }, LayerInfo[]];
  removeLayer: [{ engine: EngineName; layer: string }, null];
  releaseLayer: [{ engine: EngineName; layer: string }, null];
  pause: [OfSandbox, null];
  resume: [OfSandbox, null];
  updateLimits: [OfSandbox & { limits: SandboxLimits }, null];
  stats: [OfSandbox, SandboxStats];
  oomKills: [OfSandbox, number];
  markFiles: [OfSandbox, null];
  changedFiles: [OfSandbox, Changes];
  copyOutput: [OfSandbox & { folder: string }, CopiedOutput];
  destroy: [OfSandbox, null];
  destroyKept: [OfSandbox, null];
  checkpoint: [OfSandbox, Checkpoint];
  restore: [OfSandbox & { checkpoint: string }, null];
  createFrom: [OfCheckpoint, WithoutPaths<CreatedSandbox>];
  forgetCheckpoint: [OfCheckpoint, null];
  keepCheckpoint: [OfCheckpoint & { key: string }, null];
  loadCheckpoint: [OfCheckpoint & { key: string; options: LoadOptions }, null];
  removeCheckpoint: [OfCheckpoint, null];
  checkpoints: [{ engine: EngineName }, string[]];
  watchFiles: [OfSandbox, number];
  watchNext: [{ watch: number }, { events: FileEvent[]; ended: boolean }];
  watchClose: [{ watch: number }, null];
}
export type Verb = keyof Verbs;
export type VerbArguments<V extends Verb> = Verbs[V][0];
export type VerbResult<V extends Verb> = Verbs[V][1];

const engine = oneOf<EngineName>(["gvisor", "container"]);
const id = matching(/^[a-z2-7]{16}$/);
const watch = within({ default: 1, min: 1, max: Number.MAX_SAFE_INTEGER });
const ofSandbox = shape<OfSandbox>({ engine, id });
const ofCheckpoint = shape<OfCheckpoint>({ engine, checkpoint: id });
/** Of AES-256, in hex. */
const key = matching(/^[0-9a-f]{64}$/);
const none = shape<Record<never, never>>({});

const limits = shape<SandboxLimits>({
  memoryBytes: within(requestLimits.memoryBytes),
  cpus: within(requestLimits.cpus, false),
  cpuShares: within(requestLimits.cpuShares, false),
  processes: within(requestLimits.processes),
  storageBytes: within(requestLimits.storageBytes),
});

/** Storage cannot change, and so is not asked for. */
const someLimits = shape<Partial<SandboxLimits>>({
  memoryBytes: optional(within(requestLimits.memoryBytes)),
  cpus: optional(within(requestLimits.cpus, false)),
  cpuShares: optional(within(requestLimits.cpuShares, false)),
  processes: optional(within(requestLimits.processes)),
  storageBytes: optional(within(requestLimits.storageBytes)),
});
const startOptions = shape<StartOptions>({
  limits: optional(someLimits),
  warm: optional(oneOf(warmChoices)),
  listeners: optional(flag),
});

const freezeOptions = shape<FreezeOptions>({ keep: flag, copy: optional(flag), lent: optional(flag) });

const loadOptions = shape<LoadOptions>({ unchanged: optional(flag), listeners: optional(flag) });

const spec = shape<RemoteSpec>({
  limits,
  root: optional(matching(layerId)),
  base: optional(matching(layerId)),
  folder: optional(matching(folderId)),
  outputFolder: optional(matching(folderId)),
  warm: optional(oneOf(warmChoices)),
  listeners: optional(flag),
  keep: optional(flag),
  fleet: optional(flag),
});

export const argumentChecks: { [V in Verb]: Check<VerbArguments<V>> } = {
  choose: shape({ choice: oneOf(engineChoices) }),
  kept: none,
  engineOfKept: shape({ id }),
  searchPath: none,
  probe: none,
  checkHost: none,
  create: shape({ engine, spec }),
  attach: ofSandbox,
  detach: ofSandbox,
  stop: ofSandbox,
  start: shape({ engine, id, options: startOptions }),
  reset: ofSandbox,
  freeze: shape({ engine, id, options: freezeOptions }),
  diskRoom: shape({ engine }),
  layers: shape({ engine }),
  removeLayer: shape({ engine, layer: matching(layerId) }),
  releaseLayer: shape({ engine, layer: matching(layerId) }),
  pause: ofSandbox,
  resume: ofSandbox,
  updateLimits: shape({ engine, id, limits }),
  stats: ofSandbox,
  oomKills: ofSandbox,
  markFiles: ofSandbox,
  changedFiles: ofSandbox,
  copyOutput: shape({ engine, id, folder: matching(folderId) }),
  destroy: ofSandbox,
  destroyKept: ofSandbox,
  checkpoint: ofSandbox,
  restore: shape({ engine, id, checkpoint: id }),
  createFrom: ofCheckpoint,
  forgetCheckpoint: ofCheckpoint,
  keepCheckpoint: shape({ engine, checkpoint: id, key }),
  loadCheckpoint: shape({ engine, checkpoint: id, key, options: loadOptions }),
  removeCheckpoint: ofCheckpoint,
  checkpoints: shape({ engine }),
  watchFiles: ofSandbox,
  watchNext: shape({ watch }),
  watchClose: shape({ watch }),
};

/** To the engine: a request, or the answer to news of the disk. */
export type ToEngine = { n: number; verb: string; args: unknown } | { answer: number };

export interface RemoteError {
  code: ErrorCode;
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
  retryAfterMs?: number;
}

export type FromEngine =
  | { hello: number }
  | { refused: RemoteError }
  | { n: number; ok: unknown }
  | { n: number; error: RemoteError }
  | { exit: string; reason: string }
  | { exit: string; error: RemoteError }
  | { disk: number; id: string; news: DiskNews };

/** What is no AppError is a mistake of the engine's: its words stay with the engine. */
export function describeError(error: unknown): RemoteError {
  if (!(error instanceof AppError)) return { code: "internal", message: "the engine failed; its log says how" };
  const { code, message, hint, details, retryAfterMs } = error;
  return {
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

export function errorOf({ code, message, ...detail }: RemoteError): AppError {
  return new AppError(code, message, detail);
}
