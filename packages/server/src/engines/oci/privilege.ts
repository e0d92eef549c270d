import { geteuid } from "node:process";
import { AppError } from "../../core/errors.ts";
import { sandboxLimits } from "../../core/limits.ts";
import { engineLimits } from "../limits.ts";
import { SandboxCgroup } from "./cgroup.ts";
import { findMountedHierarchies, type Hierarchy } from "./cgroup-mounts.ts";
import type { Argument } from "./helper-client.ts";
import { findRootless } from "./rootless.ts";
import { cgroupName } from "./sandbox-folder.ts";
import { SliceProcesses } from "./slice-processes.ts";
import type { UidPool } from "./uid-range.ts";

/** What this process may do here: everything as root, or what a user namespace of its user's own gives (SBX-15). */
export interface Privilege {
  rootless: boolean;
  /** Where sandboxes take their host ids from. */
  pool: UidPool;
  hierarchies: readonly Hierarchy[];
  /** The words that start the helper. */
  helperArguments: readonly string[];
  /** Of the engine's own folders: only root's sandboxes may have owners that are others. */
  folderMode: number;
  /** Names the sandbox's ids as the helper sees them. */
  idArguments(base: number): Argument[];
  /** The maps of the sandbox's user namespace, where they are not the whole range. */
  mapArguments(base: number): Argument[];
}

export async function findPrivilege(): Promise<Privilege> {
  return geteuid?.() === 0 ? findRoot() : findRootless();
}

async function findRoot(): Promise<Privilege> {
  const hierarchies = await findMountedHierarchies();
  if (hierarchies.length === 0) {
    throw new AppError("unsupported", "this host has no cgroups", { hint: "mount cgroup2 on /sys/fs/cgroup" });
  }
  return {
    rootless: false,
    pool: {
      registry: "/run/caisson/uids",
      firstId: engineLimits.uidBase,
      slots: engineLimits.uidSlots,
      idsPerSlot: sandboxLimits.uidsPerSandbox,
    },
    hierarchies,
    helperArguments: ["serve"],
    folderMode: 0o711,
    idArguments: (base) => [["base", base]],
    mapArguments: () => [],
  };
}

/** The cgroups of a sandbox, and where they cannot do it all, the processes of its slice of ids. */
export function openCgroup(
  { hierarchies, pool, rootless }: Privilege,
  engineFolder: string,
  id: string,
  base: () => number | undefined,
): SandboxCgroup {
  const slice = rootless ? new SliceProcesses(base, pool.idsPerSlot) : undefined;
  return new SandboxCgroup(hierarchies, cgroupName(engineFolder, id), slice);
}
