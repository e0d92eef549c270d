import { mkdir, readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { geteuid } from "node:process";
import { AppError, errnoOf } from "../../core/errors.ts";
import { sandboxLimits } from "../../core/limits.ts";
import { findProgram } from "../runtime.ts";
import { findDelegatedHierarchy } from "./cgroup-delegation.ts";
import type { Argument } from "./helper-client.ts";
import type { Privilege } from "./privilege.ts";
import { findSubordinateIds, suggestSubordinateIds } from "./subordinate-ids.ts";

/**
 * The ids of a sandbox, and where they lie in its slice. Nothing else is mapped: a user namespace with all subordinate
 * ids would give every sandbox the files of every other.
 */
const userIds = [
  { inside: 0, at: 0, count: 1 }, // the guest
  { inside: 1000, at: 1, count: 4 }, // user code
  { inside: 65_534, at: 6, count: 1 }, // nobody: gVisor's own processes
] as const;
const groupIds = [
  ...userIds,
  { inside: 5, at: 5, count: 1 }, // tty: terminals
  { inside: 2000, at: 8, count: 256 }, // a group marks the processes of a run
] as const;
const userAt = userIds[1].at;

/** In the helper's namespace 0 is the user, and the subordinate ids follow. */
const firstInHelper = 1;

/** Why storage is not limited: only root mounts an image. */
export const noStorageLimit = "an ordinary user cannot mount a workspace of its own size";
const noMemoryLimit =
  "no memory cgroup is delegated to this user: the guest looks, and ends runs that it finds past the limit";
const noCpuLimit = "no cpu cgroup is delegated to this user";

/** What the kernel could not be asked for; the guest starts no program without its limit of processes. */
export function explainWithoutCgroups(outcomes: Map<string, string | null>, { hierarchies }: Privilege): void {
  const has = (controller: string) => hierarchies.some(({ controllers }) => controllers.has(controller));
  if (outcomes.has("memory") && !has("memory")) outcomes.set("memory", noMemoryLimit);
  if (outcomes.has("cpu") && !has("cpu")) outcomes.set("cpu", noCpuLimit);
  if (outcomes.has("processes")) outcomes.set("processes", null);
}

export async function findRootless(): Promise<Privilege> {
  const { username, uid, homedir } = findUser();
  const [newuidmap, newgidmap] = await Promise.all([findProgram("newuidmap"), findProgram("newgidmap")]);
  if (newuidmap === undefined || newgidmap === undefined) {
    throw new AppError(
      "unsupported",
      "newuidmap and newgidmap are not installed; sandboxes of an ordinary user require them",
      {
        hint: "as root, run: apt-get install uidmap",
      },
    );
  }
  const [subuid, subgid] = await Promise.all([readList("/etc/subuid"), readList("/etc/subgid")]);
  const uids = findSubordinateIds(subuid, username, uid);
  const gids = findSubordinateIds(subgid, username, uid);
  const least = sandboxLimits.idsPerSlice;
  if (uids === undefined || gids === undefined || uids.count < least || gids.count < least) {
    throw new AppError("unsupported", `user ${username} has no subordinate ids for sandboxes`, {
      hint: `as root, run: ${suggestSubordinateIds(subuid, subgid, username)}`,
    });
  }
  const count = Math.min(uids.count, gids.count);
  const registry = join(homedir, ".local/state/caisson/uids");
  await makeRegistry(registry);
  const inHelper = (base: number) => base - uids.start + firstInHelper;
  const delegated = await findDelegatedHierarchy();
  return {
    rootless: true,
    pool: {
      // Of all homes of this user, hence not in any of them.
      registry,
      firstId: uids.start,
      slots: Math.floor(count / sandboxLimits.idsPerSlice),
      idsPerSlot: sandboxLimits.idsPerSlice,
    },
    hierarchies: delegated === undefined ? [] : [delegated],
    helperArguments: ["enter", newuidmap, newgidmap, ...[uids.start, count, gids.start, count].map(String)],
    folderMode: 0o700,
    idArguments: (base) => [
      ["base", inHelper(base)],
      ["user", inHelper(base) + userAt],
    ],
    mapArguments: (base) => [
      ...userIds.map((ids) => mapArgument("uidmap", ids, inHelper(base))),
      ...groupIds.map((ids) => mapArgument("gidmap", ids, inHelper(base))),
    ],
  };
}

function mapArgument(
  key: "uidmap" | "gidmap",
  { inside, at, count }: { inside: number; at: number; count: number },
  base: number,
): Argument {
  return [key, `${inside} ${base + at} ${count}`];
}

/** newuidmap asks the same list of users. */
function findUser(): { username: string; uid: number; homedir: string } {
  try {
    return userInfo();
  } catch (cause) {
    throw new AppError("unsupported", `user ${geteuid?.()} is not in /etc/passwd`, { cause });
  }
}

async function makeRegistry(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new AppError("unavailable", `cannot keep the list of ids in use in ${path} (${errnoOf(cause)})`, {
      cause,
      hint: "create the folder, owned by this user; all data folders of the user share it",
    });
  }
}

async function readList(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
