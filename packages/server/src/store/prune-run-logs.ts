import { readdir, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../core/errors.ts";
import { recordLimits } from "../core/limits.ts";

interface LogFile {
  path: string;
  mtimeMs: number;
  bytes: number;
}

/** Which files go: those written last before the age, and the oldest of what is too many or too much. */
export function chooseStale(files: readonly LogFile[], nowMs: number, ageMs: number): string[] {
  const stale: string[] = [];
  let count = 0;
  let bytes = 0;
  for (const file of [...files].sort((left, right) => right.mtimeMs - left.mtimeMs)) {
    count++;
    bytes += file.bytes;
    const tooMany = count > recordLimits.sandboxes || bytes > recordLimits.totalBytes;
    if (tooMany || file.mtimeMs < nowMs - ageMs) stale.push(file.path);
  }
  return stale;
}

async function lookAt(path: string): Promise<LogFile | undefined> {
  try {
    const info = await stat(path);
    return { path, mtimeMs: info.mtimeMs, bytes: info.size };
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined; // another owner was quicker
    throw error;
  }
}

async function remove(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

/** The files of the folder; none where it is not made yet. */
export async function listRunLogs(folder: string): Promise<LogFile[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  const logs = names.filter((name) => name.endsWith(".jsonl"));
  return (await Promise.all(logs.map((name) => lookAt(join(folder, name))))).filter((file) => file !== undefined);
}

/** Removes what retention does not keep; at most once an interval, unless there are too many files. */
export async function pruneRunLogs(folder: string, ageMs: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  const marker = join(folder, "pruned");
  const last = await lookAt(marker);
  const now = new Date();
  const recent = last !== undefined && now.getTime() - last.mtimeMs < recordLimits.pruneIntervalMs;
  if (recent && names.length <= recordLimits.sandboxes) return;
  if (last === undefined) await writeFile(marker, "", { mode: 0o600 });
  else await utimes(marker, now, now);
  for (const path of chooseStale(await listRunLogs(folder), now.getTime(), ageMs)) await remove(path);
}
