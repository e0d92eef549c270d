import { lstat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineName } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import { engineLimits } from "../limits.ts";
import type { HelperClient } from "./helper-client.ts";
import { isAlive, noSandbox } from "./kept.ts";
import { type Live, newLive } from "./live.ts";
import { openCgroup, type Privilege } from "./privilege.ts";
import { type KeptRecord, readRecord } from "./record.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { ownersPaths } from "./sandbox-folder.ts";
import { findUidRange, openUidRange } from "./uid-range.ts";

function isErrno(error: unknown, ...names: string[]): boolean {
  return error instanceof AppError && names.includes(String(error.details?.errno));
}

/**
 * Takes the lock that makes an owner. The helper of an owner that was killed ends a moment after it, and a reaper holds
 * the lock for a moment too: so a lock that is held is asked for again for a while.
 */
async function becomeOwner(helper: HelperClient, id: string, folder: string): Promise<void> {
  for (const deadline = Date.now() + engineLimits.ownerWaitMs; ; ) {
    try {
      await helper.request("lock", [["folder", folder]]);
      return;
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) throw noSandbox(id);
      if (!isErrno(error, "EAGAIN")) throw error;
      if (Date.now() > deadline) throw ownedSandbox(id, error);
    }
    await sleep(engineLimits.ownerRetryMs);
  }
}

export function ownedSandbox(id: string, cause?: unknown): AppError {
  return new AppError("conflict", `sandbox ${id} already has an owner`, {
    hint: "wait until that owner detaches or ends",
    cause,
  });
}

function notRunning(id: string, stopped: boolean): AppError {
  const hint = `startSandbox("${id}") starts it again with its workspace, destroySandbox("${id}") removes it.`;
  if (stopped) return new AppError("conflict", `sandbox ${id} is stopped`, { hint, details: { stopped: true } });
  return new AppError("unavailable", `sandbox ${id} has ended`, { hint, details: { sandbox_lost: true } });
}

interface Sandbox {
  id: string;
  folder: string;
  engineFolder: string;
  helper: HelperClient;
  privilege: Privilege;
}

type KeptSandbox = Sandbox & { engine: EngineName; bootId: string; owner: { uid: number } };

interface Taken {
  live: Live;
  kept: KeptRecord;
  /** Whether it runs, and was not about to be stopped. */
  isRunning: boolean;
}

/** A daemon's records of its sandbox are not for root to read, nor are root's for a daemon. */
async function checkOwner({ id, folder, owner }: KeptSandbox): Promise<void> {
  const info = await lstat(ownersPaths(folder).ownerFolder).catch(() => undefined);
  if (info === undefined || info.uid === owner.uid) return;
  throw new AppError("forbidden", `sandbox ${id} belongs to uid ${info.uid}`, {
    hint: "use a daemon's sandboxes through its API",
  });
}

/** Makes this engine the owner of a kept sandbox, whatever state it is in. */
export async function takeSandbox<T>(sandbox: KeptSandbox, use: (taken: Taken) => Promise<T>): Promise<T> {
  const { id, folder, helper, engineFolder, privilege, bootId } = sandbox;
  await becomeOwner(helper, id, folder);
  try {
    if (!privilege.rootless) await checkOwner(sandbox);
    const record = await readRecord(folder, id);
    if (record === undefined || record.kept === null || record.engine !== sandbox.engine) throw noSandbox(id);
    const { kept, base } = record;
    const cgroup = openCgroup(privilege, engineFolder, id, () => base);
    const live: Live = { ...newLive(id, folder, cgroup, kept.hasInput), record, base, rootPid: kept.rootPid };
    return await use({ live, kept, isRunning: !kept.stopped && isAlive(record, bootId, cgroup) });
  } catch (error) {
    await helper.forget(id, folder);
    throw error;
  }
}

/** Makes this engine the owner of a kept sandbox that lives. */
export async function adoptSandbox(sandbox: KeptSandbox): Promise<{ live: Live; kept: KeptRecord }> {
  const { id, helper, privilege } = sandbox;
  return takeSandbox(sandbox, async ({ live, kept, isRunning }) => {
    if (!isRunning) throw notRunning(id, kept.stopped);
    await helper.request("watch", [["id", id], ["pid", kept.pid], ...privilege.idArguments(live.base ?? 0)]);
    // A former owner may have died with its hand on the freezer: what the record says is what was wanted.
    if (kept.paused) await live.freezer.hold("caller");
    else await live.freezer.release("caller");
    return { live, kept };
  });
}

/** Removes a sandbox that has no owner, whatever its record is worth. */
export async function destroyUnowned({ id, folder, engineFolder, helper, privilege }: Sandbox): Promise<void> {
  await becomeOwner(helper, id, folder);
  try {
    const record = await readRecord(folder, id).catch(() => undefined);
    const range =
      record === undefined
        ? await findUidRange(privilege.pool, folder)
        : openUidRange(privilege.pool, record.base, folder);
    const cgroup = openCgroup(privilege, engineFolder, id, () => range?.base);
    await removeSandbox({ folder, cgroup, range, helper });
  } finally {
    await helper.forget(id, folder);
  }
}
