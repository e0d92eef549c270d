import { renameSync, writeFileSync } from "node:fs";
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Containment,
  containments,
  type EngineName,
  type NotEnforced,
  type SandboxLimits,
  type WarmChoice,
  warmChoices,
} from "../../core/engine.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { type LayerId, layerId } from "../../core/layer.ts";
import { engineLimits } from "../limits.ts";

const version = 3;
const versionWithoutLayers = 2;
export const noLayers: LayersOfSandbox = { root: null, base: null, origin: null };

/** What a later owner must know of a sandbox that was started, and of which it will be the owner. */
export interface KeptRecord {
  /** The boundary's own process, and the one whose root is the sandbox's. */
  pid: number;
  rootPid: number;
  limits: SandboxLimits;
  warm: WarmChoice;
  runsWatchMemory: boolean;
  hasInput: boolean;
  enforced: Containment[];
  notEnforced: NotEnforced[];
  /** Written before it is frozen and after it is thawed: an owner that dies in between leaves a paused sandbox. */
  paused: boolean;
  /** Written before its processes are ended and after they are started: an owner that dies in between leaves a stopped sandbox. */
  stopped: boolean;
  /** The next start makes the workspace anew. Written before anything of it is removed. */
  emptied: boolean;
  /** Its volume became a layer: the next start makes another, on top. Written before the volume moves. */
  frozen: boolean;
  listeners: boolean;
  /** A daemon made it. */
  fleet: boolean;
}

/** What a sandbox lies on; null where it has none. */
export interface LayersOfSandbox {
  root: LayerId | null;
  base: LayerId | null;
  /** The base of its creation, which a reset goes back to. */
  origin: LayerId | null;
}

export interface SandboxRecord {
  id: string;
  engine: EngineName;
  /** First host uid of its range. */
  base: number;
  layers: LayersOfSandbox;
  createdAt: string;
  bootId: string;
  /** Null while it does not outlive its owner: an ephemeral one never does, a kept one once it has started. */
  kept: KeptRecord | null;
}

/** Appears whole or not at all. At once, so that no two changes of a record meet. */
export function writeRecord(folder: string, record: SandboxRecord): void {
  const draft = join(folder, ".record.json");
  writeFileSync(draft, JSON.stringify({ version, ...record }), { mode: 0o600 });
  renameSync(draft, join(folder, "record.json"));
}

/** Undefined when its owner died before it was written. What is not a record of this version is an error that says so. */
export async function readRecord(folder: string, id: string): Promise<SandboxRecord | undefined> {
  const path = join(folder, "record.json");
  try {
    const { size } = await lstat(path);
    if (size > engineLimits.recordBytes) throw damaged(id, `it has ${size} bytes`);
    return parseRecord(id, await readFile(path, "utf8"));
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

export function parseRecord(id: string, text: string): SandboxRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(id, "it is not JSON", cause);
  }
  if (!isObject(value)) throw damaged(id, "it is no object");
  return checkRecord(id, withoutOutput(value.version === versionWithoutLayers ? withoutLayers(value) : value));
}

/** Every sandbox has an output folder; former records say which had one. */
function withoutOutput(value: Fields): Fields {
  if (!isObject(value.kept)) return value;
  const { output: _, ...kept } = value.kept;
  return { ...value, kept };
}

function withoutLayers(value: Fields): Fields {
  const { kept } = value;
  return { ...value, version, layers: noLayers, kept: isObject(kept) ? { ...kept, frozen: false } : kept };
}

function checkRecord(id: string, value: Fields): SandboxRecord {
  if (value.version !== version) throw damaged(id, `its version is ${JSON.stringify(value.version)}, not ${version}`);
  if (!isRecord(value)) throw damaged(id, "it does not have the shape of one");
  if (value.id !== id) throw damaged(id, "it belongs to another sandbox");
  const { version: _, ...record } = value;
  return record;
}

function damaged(id: string, why: string, cause?: unknown): AppError {
  return new AppError("internal", `the record of sandbox ${id} is damaged: ${why}`, {
    hint: `destroySandbox("${id}") removes the sandbox and its files`,
    details: { damaged_record: true },
    cause,
  });
}

type Fields = Record<string, unknown>;

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasExactly(value: Fields, names: readonly string[]): boolean {
  return Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
const isText = (value: unknown): value is string => typeof value === "string" && value.length < 1000;
const isContainment = (value: unknown): value is Containment => containments.some((known) => known === value);

function isRecord(value: Fields): value is Fields & SandboxRecord {
  const { id, engine, base, layers, createdAt, bootId, kept } = value;
  return (
    hasExactly(value, ["version", "id", "engine", "base", "layers", "createdAt", "bootId", "kept"]) &&
    isText(id) &&
    (engine === "gvisor" || engine === "container") &&
    isWhole(base) &&
    base < 2 ** 32 &&
    isLayers(layers) &&
    isText(createdAt) &&
    !Number.isNaN(Date.parse(createdAt)) &&
    isText(bootId) &&
    (kept === null || (isObject(kept) && isKept(kept)))
  );
}

export function isLayers(value: unknown): value is LayersOfSandbox {
  return (
    isObject(value) &&
    hasExactly(value, ["root", "base", "origin"]) &&
    Object.values(value).every((layer) => layer === null || (isText(layer) && layerId.test(layer)))
  );
}

function isKept(value: Fields): boolean {
  const { pid, rootPid, limits, warm, enforced, notEnforced } = value;
  const flags = ["runsWatchMemory", "hasInput", "paused", "stopped", "emptied", "frozen", "listeners", "fleet"];
  return (
    hasExactly(value, ["pid", "rootPid", "limits", "warm", "enforced", "notEnforced", ...flags]) &&
    isWhole(pid) &&
    isWhole(rootPid) &&
    isLimits(limits) &&
    warmChoices.some((known) => known === warm) &&
    flags.every((name) => typeof value[name] === "boolean") &&
    Array.isArray(enforced) &&
    enforced.every(isContainment) &&
    Array.isArray(notEnforced) &&
    notEnforced.every((row) => isObject(row) && hasExactly(row, ["what", "why"]) && isContainment(row.what))
  );
}

export function isLimits(value: unknown): value is SandboxLimits {
  if (!isObject(value)) return false;
  const names = ["memoryBytes", "cpus", "cpuShares", "processes", "storageBytes"];
  return hasExactly(value, names) && names.every((name) => Number.isFinite(value[name]) && Number(value[name]) > 0);
}
