import type { Batch } from "./batch.ts";
import { type Command, sharedContext, toCommand } from "./command.ts";
/** Templates of sandboxes: an image, files, packages, limits, rules, and the memory after a warm-up (IMG-06). */
import type { PolicyDraft } from "./egress-policies.ts";
import type { EngineName, SandboxLimits } from "./engine.ts";
import type { ChosenImage } from "./image-record.ts";
import type { LayerId } from "./layer.ts";
import type { PackageManager } from "./package.ts";
import type { Caller } from "./principal.ts";
import type { EngineChoice } from "./request.ts";
import { templateLimits } from "./template-limits.ts";

export const templateStates = ["building", "ready", "failed"] as const;
type TemplateState = (typeof templateStates)[number];

export const templateSteps = ["sandbox", "files", "packages", "freeze", "warm-up"] as const;
export type TemplateStep = (typeof templateSteps)[number];

export const templateName = /^[a-z0-9][a-z0-9._-]*$/;

export const warmUpLanguages = ["python", "node", "shell"] as const;

/** Runs in the context of its language that everybody shares, or as a line of the shell. It has no secrets and no network. */
export interface WarmUp {
  language: (typeof warmUpLanguages)[number];
  code: string;
}

/** The command that policy judges and that every sandbox of the template runs. */
export function warmUpCommand({ language, code }: WarmUp): Command {
  const limits = { timeoutMs: templateLimits.warmUpMs, cpuTimeMs: templateLimits.warmUpMs };
  const what = language === "shell" ? { line: code } : { code, language, context: sharedContext };
  return toCommand({ what, limits });
}

type TemplatePackages = Readonly<Record<PackageManager, readonly string[]>>;

export interface TemplateFile {
  /** In the workspace. */
  path: string;
  data: Uint8Array;
}

export interface TemplateRequest {
  name: string;
  description?: string;
  image?: string;
  engine?: EngineChoice;
  limits?: Partial<SandboxLimits>;
  env?: Readonly<Record<string, string>>;
  network?: PolicyDraft;
  /** Its files are the workspace, before those that are given. */
  snapshotId?: string;
  files?: readonly TemplateFile[];
  packages?: Partial<TemplatePackages>;
  warmUp?: WarmUp;
}

export interface TemplateRecord {
  id: string;
  namespace: string;
  name: string;
  description: string;
  state: TemplateState;
  /** The one under way, or the one that failed. */
  step: TemplateStep | null;
  error: string | null;
  /** As it was when the template was made: a newer one of that name is another. */
  image: ChosenImage;
  engine: EngineName;
  limits: SandboxLimits;
  env: Readonly<Record<string, string>>;
  network: PolicyDraft | null;
  packages: TemplatePackages;
  warmUp: WarmUp | null;
  /** Its files; null until they are frozen. */
  layerId: LayerId | null;
  bytes: number;
  /** True when its sandboxes begin with the memory that the warm-up left. */
  memory: boolean;
  /** Why not. */
  why: string | null;
  /** The sandbox that it is made in. */
  builderId: string | null;
  createdAtMs: number;
  createdBy: string;
}

export type TemplateChanges = Partial<Omit<TemplateRecord, "id" | "namespace" | "name" | "createdAtMs" | "createdBy">>;

export interface TemplateRecords {
  insert(record: TemplateRecord, within?: Batch): Promise<void>;
  update(id: string, changes: TemplateChanges, within?: Batch): Promise<void>;
  /** Lists the templates of all namespaces, newest first. */
  list(): Promise<TemplateRecord[]>;
  delete(id: string, within?: Batch): Promise<void>;
}

/** A template as whoever makes a sandbox of it needs it. */
export interface ReadyTemplate
  extends Pick<TemplateRecord, "id" | "namespace" | "name" | "image" | "engine" | "limits" | "env" | "network"> {
  warmUp: Command | null;
  layerId: LayerId;
  /** Why its memory must not be saved; null: it may. */
  without: string | null;
}

/** Templates that a fleet may make sandboxes of. */
export interface TemplateChoice {
  /** By name or id, of the caller's namespace; refuses what is not there or not ready. */
  choose(caller: Caller, template: string): ReadyTemplate;
  /** Returns a template's warm-up; null where it has none, or is gone. */
  readonly warmUpOf: (templateId: string) => Command | null;
}

/** How the memory of a template's sandboxes begins. */
export interface TemplateMemory {
  memory: boolean;
  why: string | null;
}

/** Template that a sandbox was made of. */
export interface TemplateOrigin extends TemplateMemory {
  id: string;
  name: string;
}
