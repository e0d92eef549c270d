import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../packages/server/src/core/errors.ts";
import { cgroupName } from "../packages/server/src/engines/oci/sandbox-folder.ts";

/** What of the machine may vanish while it is looked at reads as nothing. */
function readIfThere(path: string): string {
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

/** Host processes that match. One that only waits to be reaped by the host's init is none. */
function processesWith(file: string, text: string): number[] {
  return listIfThere("/proc")
    .filter((name) => /^\d+$/.test(name) && readIfThere(`/proc/${name}/${file}`).includes(text))
    .filter((name) => !/^State:\s*[ZX]/m.test(readIfThere(`/proc/${name}/status`)))
    .map(Number);
}

/** Host processes in the cgroups of a sandbox. */
export function processesOf(id: string): number[] {
  return processesWith("cgroup", `-${id}`);
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
  for (const slot of listIfThere("/run/caisson/uids")) {
    if (readIfThere(`/run/caisson/uids/${slot}`).startsWith(home)) leaks.push(`uid range ${slot}`);
  }
  for (const name of listIfThere(join(home, "engine/sandboxes"))) leaks.push(`folder ${name}`);
  return leaks;
}
