import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { EngineName, KeptSandbox } from "../../core/engine.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import type { SandboxCgroup } from "./cgroup.ts";
import { findPrivilege, openCgroup } from "./privilege.ts";
import { type KeptRecord, readRecord, type SandboxRecord } from "./record.ts";
import { isSandboxId, readBootId } from "./sandbox-folder.ts";

/** The kept sandboxes of a data folder. One whose record cannot be read is told of, and the others are listed. */
export async function listKept(home: string, onError: (error: unknown) => void): Promise<KeptSandbox[]> {
  const engineFolder = join(home, "engine");
  const privilege = await findPrivilege();
  const bootId = await readBootId();
  const found: KeptSandbox[] = [];
  for (const id of (await list(join(engineFolder, "sandboxes"))).filter(isSandboxId)) {
    try {
      const record = await readRecord(join(engineFolder, "sandboxes", id), id);
      if (record === undefined || record.kept === null) continue;
      const cgroup = openCgroup(privilege, engineFolder, id, () => record.base);
      const state = stateOf(record.kept, isAlive(record, bootId, cgroup));
      found.push({ id, engine: record.engine, state, createdAt: record.createdAt, fleet: record.kept.fleet });
    } catch (error) {
      onError(error);
    }
  }
  return found.sort((left, right) => left.createdAt.localeCompare(right.createdAt));
}

/** The engine of a kept sandbox; undefined where its record is damaged or was never written. */
export async function engineOfKept(home: string, id: string): Promise<EngineName | undefined> {
  const folder = join(home, "engine", "sandboxes", id);
  if (!isSandboxId(id) || (await list(folder)).length === 0) throw noSandbox(id);
  return (await readRecord(folder, id))?.engine;
}

export function noSandbox(id: string): AppError {
  return new AppError("not_found", `unknown kept sandbox ${JSON.stringify(id).slice(0, 80)}`);
}

function stateOf({ stopped, paused }: KeptRecord, alive: boolean): KeptSandbox["state"] {
  if (stopped) return "stopped";
  if (!alive) return "ended";
  return paused ? "paused" : "running";
}

/** Its processes have the numbers of this start of the machine, and some are left. */
export function isAlive(record: SandboxRecord, bootId: string, cgroup: SandboxCgroup): boolean {
  return record.bootId === bootId && record.kept !== null && cgroup.processes().has(record.kept.pid);
}

async function list(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw error;
  }
}
