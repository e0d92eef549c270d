import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { geteuid } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineLimits } from "../limits.ts";
import type { SandboxCgroup } from "./cgroup.ts";
import { imageName } from "./disk-claims.ts";
import type { HelperClient } from "./helper-client.ts";
import { ownersPaths } from "./sandbox-folder.ts";
import type { UidRange } from "./uid-range.ts";

export interface Remains {
  folder: string;
  cgroup: SandboxCgroup;
  range: UidRange | undefined;
  helper: HelperClient;
}

/**
 * The one way a sandbox ends, also one that was never whole: processes first, since what they hold ends with them, then
 * the kernel's loop device, the uid range, and the folder last, because it is what a later reaper looks for.
 */
export async function removeSandbox({ folder, cgroup, range, helper }: Remains): Promise<void> {
  await endBoundary({ folder, cgroup });
  // Before its ids are another's: the files of an ordinary user's sandbox lie there under them.
  if (await hasStrangers(folder)) {
    await helper.request("remove", [
      ["id", basename(folder)],
      ["folder", folder],
    ]);
  }
  await range?.release();
  // A daemon whose engine was killed may write there for another moment.
  await rm(folder, { recursive: true, force: true, maxRetries: engineLimits.removeTries, retryDelay: 20 });
}

/** Others own files in it, and may still rename there: it is removed by descriptors, never by path (hazard 3). */
async function hasStrangers(folder: string): Promise<boolean> {
  if (geteuid?.() !== 0) return true;
  try {
    return (await lstat(ownersPaths(folder).ownerFolder)).uid !== 0;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Ends every process, and what the kernel holds for them: cgroups, mounts, the loop device. */
export async function endBoundary({ folder, cgroup }: Pick<Remains, "folder" | "cgroup">): Promise<void> {
  await cgroup.kill();
  await cgroup.remove();
  await waitForLoop(join(folder, imageName));
}

/** Of a boundary that ends by itself: resolves when nobody is left to write to its image. Its cgroups stay, with what they counted. */
export async function awaitEnd({ folder, cgroup }: Pick<Remains, "folder" | "cgroup">): Promise<void> {
  const deadline = Date.now() + engineLimits.killTimeoutMs;
  for (let pauseMs = 1; cgroup.processes().size > 0; pauseMs = Math.min(pauseMs * 2, 4)) {
    if (Date.now() > deadline) throw new AppError("internal", `processes of ${folder} do not end`);
    await sleep(pauseMs);
  }
  await waitForLoop(join(folder, imageName));
}

/** The last process takes the mount with it, and the mount the loop device, a moment later. */
async function waitForLoop(image: string): Promise<void> {
  const deadline = Date.now() + engineLimits.killTimeoutMs;
  for (let pauseMs = 1; await isAttached(image); pauseMs = Math.min(pauseMs * 2, 20)) {
    if (Date.now() > deadline) throw new AppError("internal", `${image} is still attached to a loop device`);
    await sleep(pauseMs);
  }
}

async function isAttached(image: string): Promise<boolean> {
  for (const name of await readdir("/sys/block")) {
    if (name.startsWith("loop") && (await backingFile(name)) === image) return true;
  }
  return false;
}

/** Empty where the device has none. */
export async function backingFile(device: string): Promise<string> {
  return (await readIfThere(`/sys/block/${device}/loop/backing_file`)).trim();
}

async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENXIO" || errnoOf(error) === "ENODEV") return "";
    throw error;
  }
}
