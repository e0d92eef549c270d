import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CreatedSandbox, SandboxSpec } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import { makeBundle } from "./bundle.ts";
import type { SandboxCgroup } from "./cgroup.ts";
import { limitsAfterStart, limitsBeforeStart } from "./cgroup-limits.ts";
import { imageName } from "./disk-claims.ts";
import { guestWords } from "./guest-words.ts";
import type { Argument } from "./helper-client.ts";
import { launch, type Revival, type Volume } from "./launch.ts";
import type { Live, Settled } from "./live.ts";
import type { EngineParts } from "./parts.ts";
import { type KeptRecord, type LayersOfSandbox, noLayers, type SandboxRecord, writeRecord } from "./record.ts";
import { explainWithoutCgroups, noStorageLimit } from "./rootless.ts";
import { makeOwnerFolder, ownersPaths, writeBundle } from "./sandbox-folder.ts";
import { keepUidRange, lostUidRange, reserveUidRange } from "./uid-range.ts";
import { summarise, verifyStarted } from "./verify.ts";

interface Prepared extends Volume {
  /** Why the workspace has no limit. */
  unlimited: string | null;
}

/** What a start goes on from that is not the first of a sandbox, nor a later one of its own. */
export interface Origin {
  revival: Revival;
  /** The saved memory was made in just this one. */
  bundle: string;
  layers: LayersOfSandbox;
}

/**
 * Makes the boundary, for the first time or again, and reads back what holds. The record of a kept sandbox is written
 * last: until then it does not outlive its owner, or is a stopped one.
 */
export async function startBoundary(
  parts: EngineParts,
  live: Live,
  spec: SandboxSpec,
  origin?: Origin,
): Promise<CreatedSandbox> {
  const { name } = parts;
  const own = origin?.layers ?? live.record?.layers ?? (await layersOf(parts, spec));
  await takeBase(parts, live, own);
  live.cgroup.create();
  const before = live.cgroup.limit(name, spec.limits, limitsBeforeStart);
  const [base, volume] = await bothSettled(
    writeFiles(parts, live, spec, own, origin),
    prepareVolume(parts, live, own, spec),
  );
  const { layers, release } = await parts.layers.use(live.record?.layers ?? noLayers);
  try {
    const created = await boot(parts, live, spec, { before, base, volume, layers, origin });
    void live.exit.promise.then(release, release);
    return created;
  } catch (error) {
    release();
    throw error;
  }
}

interface Place {
  before: ReturnType<SandboxCgroup["limit"]>;
  base: number;
  volume: Prepared;
  layers: readonly Argument[];
  origin: Origin | undefined;
}

/** Launches it in its place, and reads back what holds. */
async function boot(
  parts: EngineParts,
  live: Live,
  spec: SandboxSpec,
  { before, base, volume, layers, origin }: Place,
): Promise<CreatedSandbox> {
  const { name, privilege, runtime } = parts;
  const launched = launch(parts.helper, {
    id: live.id,
    folder: live.folder,
    ids: [...privilege.idArguments(base), ...privilege.mapArguments(base)],
    owner: parts.owner,
    runtime,
    runtimePath: parts.runtimePath,
    image: parts.image,
    guestPath: parts.guestPath,
    cgroupPaths: live.cgroup.paths,
    volume,
    hasDevices: hasOwnDevices(parts),
    layers,
    keepsInput: live.hasInput && spec.inputFolder === undefined,
    makesOutput: origin === undefined && (live.record?.kept == null || live.record.kept.emptied),
    spec,
    revival: origin?.revival,
  });
  parts.onLaunch?.();
  const { pid, gofer } = await launched;
  live.rootPid = runtime.gofer ? gofer : pid;
  const after = live.cgroup.limit(name, spec.limits, limitsAfterStart);
  const verified = verifyStarted({
    engine: name,
    pid,
    rootPid: live.rootPid,
    base,
    ids: privilege.pool.idsPerSlot,
  });
  const outcomes = new Map([...before, ...after, ...verified, ["storage", volume.unlimited] as const]);
  const runsWatchMemory = outcomes.get("memory") !== null && !runtime.guestWatchesMemory;
  if (privilege.rootless) explainWithoutCgroups(outcomes, privilege);
  const { limits, warm = "never", listeners = true } = spec;
  const settled = { limits, warm, listeners, runsWatchMemory, ...summarise(outcomes) };
  if (spec.keep === true) {
    const { rootPid, hasInput } = live;
    const fleet = spec.fleet ?? live.record?.kept?.fleet ?? false;
    const state = { paused: false, stopped: false, emptied: false, frozen: false };
    saveKept(parts, live, { pid, rootPid, hasInput, fleet, ...settled, ...state });
  }
  live.settled = settled;
  return describe(parts, live, settled);
}

/** gVisor has devices of its own; an ordinary user can make none. */
function hasOwnDevices({ runtime, privilege }: EngineParts): boolean {
  return !runtime.gofer && !privilege.rootless;
}

/** Nothing is done to a volume before its base is found. The input folder of whom it was frozen from is a part of it. */
async function takeBase({ layers, privilege }: EngineParts, live: Live, own: LayersOfSandbox): Promise<void> {
  const { base } = live.record?.layers ?? own;
  if (base === null) return;
  if (privilege.rootless) throw noBase(noStorageLimit);
  const [nearest] = await layers.chain(base);
  if (live.record === undefined && nearest?.hasInput === true) live.hasInput = true;
}

function noBase(why: string): AppError {
  return new AppError("unsupported", `sandboxes cannot share files with others on this machine: ${why}`, {
    hint: "copy the files into an empty sandbox",
  });
}

/** A copy goes back to what its original did. */
async function layersOf({ layers }: EngineParts, { root, base }: SandboxSpec): Promise<LayersOfSandbox> {
  const [nearest] = base === undefined ? [] : await layers.chain(base);
  const origin = nearest?.origin === undefined ? (base ?? null) : nearest.origin;
  return { root: root ?? null, base: base ?? null, origin };
}

export function describe(parts: EngineParts, live: Live, settled: Settled): CreatedSandbox {
  return {
    id: live.id,
    engine: parts.name,
    ...ownersPaths(live.folder),
    guestWatchesMemory: parts.runtime.guestWatchesMemory,
    processSlack: parts.runtime.processSlack,
    limits: settled.limits,
    warm: settled.warm,
    listeners: settled.listeners,
    runsWatchMemory: settled.runsWatchMemory,
    kept: live.record?.kept != null,
    enforced: settled.enforced,
    notEnforced: settled.notEnforced,
  };
}

/**
 * As saveKept, a moment later: whoever waits for its change does not wait for the disk. An engine that is killed in that
 * moment leaves the record of before, which is what the next owner gets.
 */
export function saveKeptSoon(parts: Pick<EngineParts, "bootId" | "onError">, live: Live, kept: KeptRecord): void {
  if (live.record === undefined) throw new AppError("internal", `sandbox ${live.id} has no record`);
  live.record = { ...live.record, kept };
  live.unsaved ??= setImmediate(() => {
    try {
      saveUnsaved(parts, live);
    } catch (error) {
      parts.onError(error);
    }
  });
}

/** Before it is another's. */
export function saveUnsaved(parts: Pick<EngineParts, "bootId">, live: Live): void {
  if (live.unsaved !== undefined && live.record?.kept != null) saveKept(parts, live, live.record.kept);
}

/** What a record says of processes is true of this start of the machine. */
export function saveKept({ bootId }: Pick<EngineParts, "bootId">, live: Live, kept: KeptRecord): void {
  if (live.record === undefined) throw new AppError("internal", `sandbox ${live.id} has no record`);
  const record: SandboxRecord = { ...live.record, bootId, kept };
  writeRecord(live.folder, record);
  live.record = record;
  forgetUnsaved(live);
}

export function forgetUnsaved(live: Live): void {
  clearImmediate(live.unsaved);
  live.unsaved = undefined;
}

/** The range is recorded before anything could use it. */
async function writeFiles(
  parts: EngineParts,
  live: Live,
  spec: SandboxSpec,
  layers: LayersOfSandbox,
  origin?: Origin,
): Promise<number> {
  const { name, bootId } = parts;
  const base = await findBase(parts, live);
  if (origin?.revival.inPlace === true) return base;
  const guestArgs = parts.guestArgs ?? (await guestWords(name));
  const bundle =
    origin?.bundle ??
    JSON.stringify(
      makeBundle({
        id: live.id,
        engine: name,
        spec,
        hasInput: live.hasInput,
        hasDevices: hasOwnDevices(parts),
        guestArgs,
      }),
    );
  await Promise.all([writeBundle(live.folder, bundle), makeOwnerFolder(live.folder, parts.owner)]);
  if (live.record === undefined) {
    const record = { id: live.id, engine: name, base, layers, createdAt: new Date().toISOString(), bootId, kept: null };
    writeRecord(live.folder, record);
    live.record = record;
  }
  return base;
}

/** The files of a workspace carry the ids of the range in which they were written. */
async function findBase({ privilege }: EngineParts, live: Live): Promise<number> {
  if (live.base === undefined) {
    live.base = (await reserveUidRange(privilege.pool, live.folder)).base;
  } else if (!(await keepUidRange(privilege.pool, live.base, live.folder))) {
    throw lostUidRange(live.id);
  }
  return live.base;
}

/** An image of the size asked for, or a plain folder and the reason why it has no limit; or what a former start left. */
async function prepareVolume(
  { disk, privilege }: EngineParts,
  live: Live,
  layers: LayersOfSandbox,
  spec: SandboxSpec,
): Promise<Prepared> {
  const image = join(live.folder, imageName);
  const kept = live.record?.kept;
  const isNew = kept == null;
  const hasBase = (live.record?.layers ?? layers).base !== null;
  if (privilege.rootless) {
    if (isNew) await disk.reserve(live.folder, spec.limits.storageBytes);
    return { isImage: false, unlimited: noStorageLimit };
  }
  if (live.saved && existsSync(image)) return { isImage: true, unlimited: null }; // it could not become a layer
  const isAnew = isNew || kept.emptied || kept.frozen;
  if (!isAnew && existsSync(image)) return { isImage: true, unlimited: null };
  const unlimited = await disk.unavailable();
  if (unlimited !== null && hasBase) throw noBase(unlimited);
  if (unlimited !== null) return { isImage: false, unlimited };
  if (!isAnew) return { isImage: false, unlimited: "it was made on a host that had no loop devices" };
  const { storageBytes } = spec.limits;
  // Its claim is as old as the image, or as the reset that asked for room before it took the old files.
  if (isNew || !(await disk.empty(live.folder, storageBytes))) await disk.reserve(live.folder, storageBytes);
  return { isImage: true, template: await disk.template(storageBytes), unlimited };
}

/** Both at once; when one fails the other is still waited for, so that nothing goes on behind a removal. */
async function bothSettled<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}
