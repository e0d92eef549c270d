import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { geteuid } from "node:process";
import { errnoOf } from "../../core/errors.ts";
import { imageName } from "./disk-claims.ts";
import type { HelperClient } from "./helper-client.ts";
import type { Live } from "./live.ts";
import type { EngineParts } from "./parts.ts";
import type { SandboxRecord } from "./record.ts";
import { endBoundary, type Remains } from "./remove-sandbox.ts";
import { saveKept } from "./start.ts";

/** What a stopped sandbox is made of; all else in its folder belongs to one start of it. */
export const volumeName = "volume";
const ownerName = "owner";
const lasting: ReadonlySet<string> = new Set(["lock", "record.json", ownerName, imageName, volumeName]);

/** Ends what is left of a start, also of one that was never whole. What the next start needs stays. */
export async function clearBoundary(remains: Omit<Remains, "range">): Promise<void> {
  await endBoundary(remains);
  const { folder, helper } = remains;
  // None of these is another's on a host whose engine is root, and nothing runs that could change them.
  const remover = geteuid?.() === 0 ? undefined : helper;
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (!lasting.has(entry.name)) await removeTree(join(folder, entry.name), entry.isDirectory() ? remover : undefined);
}

/** Whether a start, or a stop that did not come to its end, left something. Its folders go after its processes and cgroups. */
export async function hasRemains(folder: string): Promise<boolean> {
  return (await readdir(folder)).some((name) => !lasting.has(name));
}

/** Stops a sandbox that this engine owns; the record says so before anything ends. */
export async function stopBoundary(parts: EngineParts, live: Live, emptied: boolean): Promise<void> {
  const kept = live.record?.kept;
  if (kept == null) return;
  if (emptied) live.record = backToOrigin(live.record);
  saveKept(parts, live, {
    ...kept,
    stopped: true,
    paused: false,
    emptied: kept.emptied || emptied,
    hasInput: kept.hasInput && !emptied,
  });
  const { folder, cgroup } = live;
  live.exit.resolve("the sandbox was stopped");
  await clearBoundary({ folder, cgroup, helper: parts.helper });
  if (kept.emptied || emptied) {
    await parts.disk.empty(folder, kept.limits.storageBytes);
    await discardFolder(folder, parts.helper);
    await removeTree(join(folder, ownerName), parts.helper);
  }
}

function backToOrigin<R extends Pick<SandboxRecord, "layers"> | undefined>(record: R): R {
  return record && { ...record, layers: { ...record.layers, base: record.layers.origin } };
}

/** A plain folder leaves its place at once, and is then taken apart. */
async function discardFolder(folder: string, helper: HelperClient): Promise<void> {
  const discarded = join(folder, "discarded");
  try {
    await rename(join(folder, volumeName), discarded);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    throw error;
  }
  await removeTree(discarded, helper);
}

/** What others own is removed by descriptors, of any depth; an ordinary user's helper is the only one who may (hazard 3). */
async function removeTree(path: string, remover: HelperClient | undefined): Promise<void> {
  if (remover === undefined) await rm(path, { recursive: true, force: true });
  else
    await remover.request("remove", [
      ["id", basename(dirname(path))],
      ["folder", path],
    ]);
}
