import { setTimeout as sleep } from "node:timers/promises";
import type { EngineName } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import { engineLimits } from "../../core/limits.ts";
import type { HelperClient } from "./helper-client.ts";
import { isAlive, noSandbox } from "./kept.ts";
import { type Live, newLive } from "./live.ts";
import { openCgroup, type Privilege } from "./privilege.ts";
import { type KeptRecord, readRecord } from "./record.ts";
import { removeSandbox } from "./remove-sandbox.ts";
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
  return new AppError("conflict", `sandbox ${id} has an owner already`, {
    hint: "It is free when that owner detaches, or ends.",
    cause,
  });
}

function endedSandbox(id: string): AppError {
  return new AppError("unavailable", `sandbox ${id} has ended`, {
    hint: `destroySandbox("${id}") removes what is left of it.`,
    details: { sandbox_lost: true },
  });
}

interface Sandbox {
  id: string;
  folder: string;
  engineFolder: string;
  helper: HelperClient;
  privilege: Privilege;
}

/** Makes this engine the owner of a kept sandbox that lives. */
export async function adoptSandbox(
  sandbox: Sandbox & { engine: EngineName; bootId: string },
): Promise<{ live: Live; kept: KeptRecord }> {
  const { id, folder, helper } = sandbox;
  await becomeOwner(helper, id, folder);
  try {
    return await adopt(sandbox);
  } catch (error) {
    await helper.forget(id, folder);
    throw error;
  }
}

async function adopt(sandbox: Sandbox & { engine: EngineName; bootId: string }) {
  const { id, folder, helper, engineFolder, privilege } = sandbox;
  const record = await readRecord(folder, id);
  if (record === undefined || record.kept === null || record.engine !== sandbox.engine) throw noSandbox(id);
  const { kept, base } = record;
  const cgroup = openCgroup(privilege, engineFolder, id, () => base);
  if (!isAlive(record, sandbox.bootId, cgroup)) throw endedSandbox(id);
  const live: Live = { ...newLive(id, folder, cgroup, kept.hasInput), record, base, rootPid: kept.rootPid };
  await helper.request("watch", [["id", id], ["pid", kept.pid], ...privilege.idArguments(base)]);
  // A former owner may have died with its hand on the freezer: what the record says is what was wanted.
  if (kept.paused) await live.freezer.hold("caller");
  else await live.freezer.release("caller");
  return { live, kept };
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
