import { readdir, readFile, statfs } from "node:fs/promises";
import { release } from "node:os";
import { geteuid } from "node:process";
import type { Check } from "../core/diagnosis.ts";
import { AppError } from "../core/errors.ts";
import { showBytes } from "../core/size.ts";
import { engineLimits } from "./limits.ts";
import { findHierarchies } from "./oci/cgroup-mounts.ts";
import { findRootless, noStorageLimit } from "./oci/rootless.ts";
import { findProgram } from "./runtime.ts";
import { usualStorageBytes } from "./usual-storage.ts";

/** Sandboxes hold two pipes each; past this an unprivileged owner's pipes get small (hazard 30). */
const comfortableSandboxes = 400;

async function readNumber(path: string): Promise<number | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : Number(text.trim());
}

async function checkUserNamespaces(): Promise<Check> {
  const most = await readNumber("/proc/sys/user/max_user_namespaces");
  if (most !== undefined && most > 0) return { name: "user namespaces", state: "ok", detail: `up to ${most}` };
  return {
    name: "user namespaces",
    state: "failed",
    detail: "the kernel allows none",
    hint: "sysctl -w user.max_user_namespaces=15000",
  };
}

async function checkCgroups(): Promise<Check> {
  const hierarchies = await findHierarchies(await readFile("/proc/mounts", "utf8"));
  const controllers = new Set(hierarchies.flatMap(({ controllers }) => [...controllers]));
  const missing = ["memory", "cpu", "pids"].filter((name) => !controllers.has(name));
  const versions = [...new Set(hierarchies.map(({ version }) => `v${version}`))].sort().join(" and ");
  if (missing.length === 0)
    return { name: "cgroups", state: "ok", detail: `${versions}: ${[...controllers].sort().join(", ")}` };
  return {
    name: "cgroups",
    state: "warning",
    detail: `without ${missing.join(", ")}: those limits are not enforced`,
    hint: "mount cgroup2 on /sys/fs/cgroup, or enable the controllers for this place in the tree",
  };
}

/** Checks which limits are enforced for an ordinary user (SBX-15). */
async function checkRootless(): Promise<Check[]> {
  const storage: Check = { name: "storage", state: "warning", detail: `not enforced: ${noStorageLimit}` };
  try {
    const { pool, hierarchies } = await findRootless();
    const controllers = new Set(hierarchies.flatMap(({ controllers }) => [...controllers]));
    const missing = ["memory", "cpu"].filter((name) => !controllers.has(name));
    const ids: Check = {
      name: "subordinate ids",
      state: "ok",
      detail: `from ${pool.firstId}: ${pool.slots} sandboxes at a time`,
    };
    if (missing.length === 0) return [ids, { name: "cgroups", state: "ok", detail: "delegated to this user" }, storage];
    const cgroups: Check = {
      name: "cgroups",
      state: "warning",
      detail: `without delegated ${missing.join(", ")}: not enforced by the kernel`,
      hint: "systemd-run --user --scope -p Delegate=yes ./caisson ..., where cgroup version 2 has these controllers; or run as root",
    };
    return [ids, cgroups, storage];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const hint = error.hint === undefined ? {} : { hint: error.hint };
    return [{ name: "subordinate ids", state: "failed", detail: error.message, ...hint }];
  }
}

async function checkDisk(home: string): Promise<Check> {
  const { bavail, bsize } = await statfs(home);
  const usable = Math.max(0, bavail * bsize - engineLimits.diskReserveBytes);
  const usualBytes = usualStorageBytes(bavail * bsize);
  const count = Math.floor(usable / usualBytes);
  const detail = `${showBytes(bavail * bsize)} free: ${count} sandboxes of ${showBytes(usualBytes)}`;
  if (count > 0) return { name: "disk", state: "ok", detail };
  return {
    name: "disk",
    state: "warning",
    detail,
    hint: "free some room, put CAISSON_HOME elsewhere, or ask for less --storage",
  };
}

async function checkLoopDevices(): Promise<Check> {
  const nodes: string[] = await readdir("/dev").catch(() => []);
  if (nodes.includes("loop-control") && (await findProgram("mkfs.ext4")) !== undefined)
    return { name: "loop devices", state: "ok", detail: "the storage limit can be enforced" };
  return {
    name: "loop devices",
    state: "warning",
    detail: "no /dev/loop-control, or no mkfs.ext4: the storage limit is not enforced",
    hint: "modprobe loop; apt-get install e2fsprogs",
  };
}

async function checkPipes(home: string): Promise<Check> {
  const live = (await readdir(`${home}/engine/sandboxes`).catch(() => [])).length;
  const detail = `${live} sandboxes live`;
  if (live <= comfortableSandboxes) return { name: "sandboxes", state: "ok", detail };
  return {
    name: "sandboxes",
    state: "warning",
    detail,
    hint: "past 400 the kernel's pipe budget of an unprivileged owner gets short",
  };
}

/** Checks the machine, apart from the engines themselves. */
export async function checkHost(home: string): Promise<Check[]> {
  return [
    { name: "kernel", state: "ok", detail: release() },
    { name: "node", state: "ok", detail: `${process.version} (${process.execPath})` },
    await checkUserNamespaces(),
    ...(geteuid?.() === 0 ? [await checkCgroups(), await checkLoopDevices()] : await checkRootless()),
    await checkDisk(home),
    await checkPipes(home),
  ];
}
