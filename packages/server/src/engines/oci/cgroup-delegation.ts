import { constants } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Hierarchy } from "./cgroup-mounts.ts";
import { findHierarchies } from "./cgroup-mounts.ts";

/**
 * The highest cgroup above this process that its user may divide, as systemd delegates one to each user's manager.
 * Undefined where there is none: then nothing is limited by cgroups.
 */
export async function findDelegatedHierarchy(): Promise<Hierarchy | undefined> {
  const [mounts, own] = await Promise.all([readFile("/proc/mounts", "utf8"), readFile("/proc/self/cgroup", "utf8")]);
  const unified = (await findHierarchies(mounts)).find(({ version }) => version === 2);
  const path = /^0::(\/.*)$/m.exec(own)?.[1];
  if (unified === undefined || path === undefined) return undefined;
  let found: string | undefined;
  // A process moves only below a cgroup that is its user's: the chain must not break.
  for (let folder = join(unified.root, path); folder.length >= unified.root.length; folder = dirname(folder)) {
    if (!(await isDivisible(folder))) break;
    found = folder;
  }
  if (found === undefined) return undefined;
  const controllers = await readFile(join(found, "cgroup.controllers"), "utf8");
  return { root: found, version: 2, controllers: new Set(controllers.trim().split(/\s+/).filter(Boolean)) };
}

async function isDivisible(folder: string): Promise<boolean> {
  const needed = [folder, join(folder, "cgroup.procs"), join(folder, "cgroup.subtree_control")];
  const allowed = await Promise.all(
    needed.map((path) =>
      access(path, constants.W_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return allowed.every(Boolean);
}
