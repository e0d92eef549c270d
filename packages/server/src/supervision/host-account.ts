import { readFile } from "node:fs/promises";
import { geteuid, getgid } from "node:process";
import { AppError } from "../core/errors.ts";

/** As whom things are done on the host. */
export interface HostAccount {
  uid: number;
  gid: number;
  groups: readonly number[];
  /** The daemon's own user: it is kept from the daemon by other means than its rights. */
  isDaemons: boolean;
}

/** `daemon`: its user, where it is another than this process's. An ordinary user can be nobody but itself. */
export async function hostAccount(
  name: string | null,
  daemon: { uid: number; gid: number } | undefined,
): Promise<HostAccount> {
  const own = daemon ?? { uid: geteuid?.() ?? 0, gid: getgid?.() ?? 0 };
  if (name === null) return { ...own, groups: [], isDaemons: true };
  const found = await findAccount(name);
  if (found === undefined) throw new AppError("invalid", `host.run_as: unknown user '${name}' (not in /etc/passwd)`);
  if (found.uid === 0 || found.gid === 0)
    throw new AppError("forbidden", "host.run_as: host commands cannot run as root", {
      hint: "create a user for host commands, in the groups that it needs (docker, adm)",
    });
  if (daemon === undefined && found.uid !== own.uid)
    throw new AppError("forbidden", `host.run_as: only root can run commands as ${name}`, {
      hint: `start caisson as root or as ${name}`,
    });
  return { ...found, groups: await groupsOf(name), isDaemons: found.uid === own.uid };
}

async function findAccount(name: string): Promise<{ uid: number; gid: number } | undefined> {
  const row = rows(await readFile("/etc/passwd", "utf8")).find(([known]) => known === name);
  if (row === undefined) return undefined;
  const [uid, gid] = [Number(row[2]), Number(row[3])];
  if (!Number.isSafeInteger(uid) || !Number.isSafeInteger(gid) || row[2] === "" || row[3] === "")
    throw new AppError("invalid", `host.run_as: the user ${name} has no numeric ids in /etc/passwd`);
  return { uid, gid };
}

/** But for root's. */
async function groupsOf(name: string): Promise<number[]> {
  const of = rows(await readFile("/etc/group", "utf8")).filter((row) => (row[3] ?? "").split(",").includes(name));
  return of.map((row) => Number(row[2])).filter((gid) => Number.isSafeInteger(gid) && gid > 0);
}

function rows(text: string): string[][] {
  return text.split("\n").map((line) => line.split(":"));
}
