import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineLimits } from "../limits.ts";
import type { EngineParts } from "./parts.ts";
import { openCgroup } from "./privilege.ts";
import { type KeptRecord, readRecord, type SandboxRecord } from "./record.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { isSandboxId } from "./sandbox-folder.ts";
import { clearBoundary, hasRemains } from "./stop.ts";
import { keepUidRange, openUidRange, sweepUidRanges } from "./uid-range.ts";

/** It is told of each that could not be removed; the others are. */
export type ReapOptions = Pick<EngineParts, "engineFolder" | "privilege" | "helper" | "onError">;

/** Removes what owners left that are dead: a sandbox has an owner while its lock is held. */
export async function reapSandboxes(options: ReapOptions): Promise<void> {
  const sandboxes = join(options.engineFolder, "sandboxes");
  for (const name of await readdir(sandboxes)) {
    const folder = join(sandboxes, name);
    if (isSandboxId(name)) await reapOne(options, folder, name).catch(options.onError);
    else if (name.startsWith(".")) await removeIfStale(folder);
  }
  const { registry } = options.privilege.pool;
  await withLock(options.helper, registry, () => sweepUidRanges(registry));
}

async function reapOne(options: ReapOptions, folder: string, id: string): Promise<void> {
  const { engineFolder, helper, privilege } = options;
  // Looked at before it is locked too: a lock, however short, would refuse a new owner.
  const found = await readRecord(folder, id);
  if (isKept(found)) return reapKept(options, folder, found);
  await withLock(helper, folder, async () => {
    const record = await readRecord(folder, id);
    if (isKept(record)) return;
    const range = record === undefined ? undefined : openUidRange(privilege.pool, record.base, folder);
    const cgroup = openCgroup(privilege, engineFolder, id, () => record?.base);
    await removeSandbox({ folder, cgroup, range, helper });
  });
}

type Kept = SandboxRecord & { kept: KeptRecord };

function isKept(record: SandboxRecord | undefined): record is Kept {
  return record !== undefined && record.kept !== null;
}

/** A kept sandbox has its ids while its files do. Of one that was being stopped or started the rest is ended. */
async function reapKept({ engineFolder, helper, privilege }: ReapOptions, folder: string, found: Kept): Promise<void> {
  await keepUidRange(privilege.pool, found.base, folder);
  if (!found.kept.stopped || !(await hasRemains(folder))) return;
  await withLock(helper, folder, async () => {
    const record = await readRecord(folder, found.id);
    if (!isKept(record) || !record.kept.stopped) return;
    const cgroup = openCgroup(privilege, engineFolder, found.id, () => record.base);
    await clearBoundary({ folder, cgroup, helper });
  });
}

/** A folder that never got its name: its maker died at once, or is making it right now. */
export async function removeIfStale(folder: string): Promise<void> {
  try {
    const { mtimeMs } = await stat(folder);
    if (Date.now() - mtimeMs > engineLimits.startTimeoutMs) await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

export async function withLock(helper: ReapOptions["helper"], folder: string, act: () => Promise<void>): Promise<void> {
  try {
    await helper.request("lock", [["folder", folder]]);
  } catch (error) {
    if (error instanceof AppError && ["EAGAIN", "ENOENT"].includes(String(error.details?.errno))) return;
    throw error;
  }
  try {
    await act();
  } finally {
    await helper.request("unlock", [["folder", folder]]);
  }
}
