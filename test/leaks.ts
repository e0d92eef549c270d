import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { errnoOf } from "../packages/server/src/core/errors.ts";
import { findPrivilege } from "../packages/server/src/engines/oci/privilege.ts";
import { cgroupName } from "../packages/server/src/engines/oci/sandbox-folder.ts";
import { SliceProcesses } from "../packages/server/src/engines/oci/slice-processes.ts";

/** Of whoever runs the tests; where that user can make no sandbox, no test gets to need it. */
const privilege = await findPrivilege().catch(() => undefined);
export const idPool = privilege?.pool ?? { registry: "/run/caisson/uids", firstId: 0, slots: 0, idsPerSlot: 1 };
const { registry } = idPool;

/** What of the machine may vanish while it is looked at reads as nothing. */
export function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return "";
  }
}

function listIfThere(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

const PF_EXITING = 4;

/**
 * Whether no instruction of it will ever run again: it waits to be reaped by the host's init, or its memory, of which a
 * sentry has much, is being taken apart. No cgroup lists such a one either.
 */
function isOver(name: string): boolean {
  const stat = readIfThere(`/proc/${name}/stat`);
  const [state = "", , , , , , flags] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ["Z", "X", ""].includes(state) || (Number(flags) & PF_EXITING) !== 0;
}

/** Host processes that match. */
function processesWith(file: string, text: string): number[] {
  return listIfThere("/proc")
    .filter((name) => /^\d+$/.test(name) && readIfThere(`/proc/${name}/${file}`).includes(text) && !isOver(name))
    .map(Number);
}

/** Host processes in the cgroups of a sandbox, or in its slice of an ordinary user's ids. */
export function processesOf(id: string): number[] {
  if (privilege?.rootless === true) return processesOfSlice(id);
  return processesWith("cgroup", `-${id}`);
}

function processesOfSlice(id: string): number[] {
  const { firstId, idsPerSlot } = idPool;
  const slot = listIfThere(registry).find((name) => basename(readIfThere(join(registry, name))) === id);
  return slot === undefined ? [] : new SliceProcesses(() => firstId + Number(slot) * idsPerSlot, idsPerSlot).list();
}

/** Ends them all; the end of one may have ended others already. */
export function killProcessesOf(id: string): void {
  for (const pid of processesOf(id)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (errnoOf(error) !== "ESRCH") throw error;
    }
  }
}

/** Everything that sandboxes of this data folder could have left on the machine (SBX-17). */
export function findLeaks(home: string): string[] {
  const leaks: string[] = [];
  const prefix = cgroupName(join(home, "engine"), "");
  for (const pid of new Set([...processesWith("cgroup", `/${prefix}`), ...processesWith("cmdline", home)]))
    if (pid !== process.pid) leaks.push(`process ${pid}: ${readIfThere(`/proc/${pid}/cmdline`).replaceAll("\0", " ")}`);
  for (const mount of readIfThere("/proc/mounts").split("\n")) {
    const [, path, type] = mount.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") continue;
    for (const name of listIfThere(`${path}/caisson`))
      if (name.startsWith(prefix)) leaks.push(`cgroup ${path}/caisson/${name}`);
  }
  for (const line of readIfThere("/proc/self/mountinfo").split("\n"))
    if (line.includes(home)) leaks.push(`mount ${line}`);
  for (const name of listIfThere("/sys/block")) {
    const image = readIfThere(`/sys/block/${name}/loop/backing_file`);
    if (image.startsWith(home)) leaks.push(`loop device ${name} ${image}`);
  }
  for (const slot of listIfThere(registry)) {
    if (readIfThere(join(registry, slot)).startsWith(home)) leaks.push(`uid range ${slot}`);
  }
  for (const name of listIfThere(join(home, "engine/sandboxes"))) leaks.push(`folder ${name}`);
  return leaks;
}
