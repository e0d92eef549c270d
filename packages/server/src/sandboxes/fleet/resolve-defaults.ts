import type { EgressPolicy } from "../../core/egress.ts";
import type { PolicyDraft } from "../../core/egress-policies.ts";
import type { SandboxLimits, WarmChoice } from "../../core/engine.ts";
import { checkEnvironment } from "../../core/environment.ts";
import { AppError } from "../../core/errors.ts";
import type { CreateRequest, FleetSettings } from "../../core/fleet.ts";
import type { ChosenImage } from "../../core/image-record.ts";
import type { Range } from "../../core/limits.ts";
import { type EngineChoice, resolveSandboxLimits } from "../../core/request.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { checkRange, showSeconds } from "../../core/size.ts";
import type { ReadyTemplate } from "../../core/template.ts";
import { keptArtifactLimits } from "../snapshot-limits.ts";
import { lifetimeLimits } from "./lifetime-limits.ts";
import { fleetLimits, queueLimits } from "./limits.ts";

/** Fields that a record keeps as they were requested, and that copies of the sandbox get. */
type Kept = Pick<
  SandboxRecord,
  "env" | "labels" | "description" | "idleTimeoutMs" | "outputFolder" | "keepArtifactsMs"
>;

export function keptOf({ env, labels, description, idleTimeoutMs, outputFolder, keepArtifactsMs }: Kept): Kept {
  return { env, labels, description, idleTimeoutMs, outputFolder, keepArtifactsMs };
}

export interface ResolvedRequest extends Kept {
  lifetimeMs: number;
  /** The caller's unless given. */
  priority: number | undefined;
  image: ChosenImage;
  engine: EngineChoice;
  limits: SandboxLimits;
  sessionKey: string | null;
  snapshotId: string | null;
  inputFolder: string | null;
  warm: WarmChoice;
  /** Null: its namespace's alone. */
  network: EgressPolicy | null;
  template: ReadyTemplate | null;
  forTemplate: boolean;
}

/** A request with its defaults filled in; what is past a cap is refused, and names it (SBX-13). */
export function resolveDefaults(
  request: CreateRequest,
  settings: FleetSettings,
  checkNetwork: (asked: PolicyDraft) => EgressPolicy,
): Omit<ResolvedRequest, "image"> {
  const { sessionKeyChars } = fleetLimits;
  if (request.sessionKey !== undefined && (request.sessionKey === "" || request.sessionKey.length > sessionKeyChars))
    throw new AppError("invalid", `a session key must have 1 to ${sessionKeyChars} characters`);
  return {
    engine: request.engine ?? settings.engine,
    limits: resolveSandboxLimits({ ...settings.limits, ...request.limits }),
    env: checkEnv(request.env ?? {}),
    labels: checkLabels(request.labels ?? {}),
    description: request.description ?? "",
    sessionKey: request.sessionKey ?? null,
    snapshotId: request.snapshotId ?? null,
    inputFolder: request.inputFolder ?? null,
    outputFolder: request.outputFolder ?? null,
    keepArtifactsMs: checkKeep(request.keepArtifactsMs ?? settings.keepArtifactsMs),
    idleTimeoutMs: checkIdle(request.idleTimeoutMs ?? settings.idleTimeoutMs),
    lifetimeMs: checkLifetime(request.lifetimeMs ?? settings.lifetimeMs, settings),
    priority:
      request.priority === undefined
        ? undefined
        : checkRange(request.priority, queueLimits.priority, "priority", String),
    warm: request.warm ?? "first-use",
    network: request.network === undefined ? null : checkNetwork(request.network),
    template: null,
    forTemplate: request.forTemplate ?? false,
  };
}

function checkKeep(ms: number): number {
  return checkRange(ms, keptArtifactLimits.keepMs, "time that artifacts are kept", showSeconds);
}

export function checkIdle(ms: number): number {
  return checkRange(ms, lifetimeLimits.idleTimeoutMs, "idle timeout", showSeconds);
}

export function checkLifetime(ms: number, { maxLifetimeMs }: Pick<FleetSettings, "maxLifetimeMs">): number {
  const range: Range = { ...lifetimeLimits.lifetimeMs, max: maxLifetimeMs };
  return checkRange(ms, range, "lifetime", showSeconds);
}

export function checkLabels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (Object.keys(labels).length > fleetLimits.labels)
    throw new AppError("invalid", `too many labels (limit: ${fleetLimits.labels})`);
  if (bytesOf(labels) > fleetLimits.labelBytes)
    throw new AppError("too_large", `labels: more than ${fleetLimits.labelBytes} bytes`);
  return labels;
}

export function checkEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (bytesOf(checkEnvironment(env)) > fleetLimits.envBytes)
    throw new AppError("too_large", `environment: more than ${fleetLimits.envBytes} bytes`);
  return env;
}

function bytesOf(words: Readonly<Record<string, string>>): number {
  return Object.entries(words).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
}
