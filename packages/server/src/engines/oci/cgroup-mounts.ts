import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** One mounted cgroup hierarchy. A host may have one of version 2, several of version 1, or both. */
export interface Hierarchy {
  root: string;
  version: 1 | 2;
  controllers: ReadonlySet<string>;
}

const controllerNames = ["memory", "cpu", "cpuacct", "pids", "freezer", "blkio", "io"] as const;
export type Controller = (typeof controllerNames)[number];

/** Reads `/proc/mounts`. Only the first mount of a controller counts, and hierarchies of no use here are left out. */
export async function findHierarchies(mounts: string): Promise<Hierarchy[]> {
  const found: Hierarchy[] = [];
  const taken = new Set<string>();
  for (const line of mounts.split("\n")) {
    const [, root = "", type, options = ""] = line.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") continue;
    const version = type === "cgroup" ? 1 : 2;
    const words = version === 1 ? options.split(",") : await readControllers(root);
    const controllers = words.filter((word) => isWanted(word) && !taken.has(word));
    if (version === 1 && controllers.length === 0) continue;
    if (version === 2 && taken.has("cgroup2")) continue;
    for (const controller of controllers) taken.add(controller);
    if (version === 2) taken.add("cgroup2");
    found.push({ root, version, controllers: new Set(controllers) });
  }
  return found;
}

export async function findMountedHierarchies(): Promise<Hierarchy[]> {
  return findHierarchies(await readFile("/proc/mounts", "utf8"));
}

function isWanted(word: string): word is Controller {
  return (controllerNames as readonly string[]).includes(word);
}

async function readControllers(root: string): Promise<string[]> {
  return (await readFile(join(root, "cgroup.controllers"), "utf8")).trim().split(/\s+/);
}
