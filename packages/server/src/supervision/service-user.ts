import { readFile } from "node:fs/promises";
import { AppError } from "../core/errors.ts";
import { supervisionLimits } from "./limits.ts";

export interface ServiceUser {
  uid: number;
  gid: number;
  /** Why it has no name, where it has none. */
  unnamed?: string;
}

const name = "caisson";
/** It owns no files but the daemon's, and nobody logs in as it. */
const words = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"];

/** The user that the daemon is, made where it is missing. */
export async function serviceUser(
  addUser: (args: readonly string[]) => Promise<string | undefined>,
): Promise<ServiceUser> {
  const known = await findUser();
  if (known !== undefined) return known;
  const failure = await addUser([...words, "--shell", "/usr/sbin/nologin", name]);
  const made = failure === undefined ? await findUser() : undefined;
  const id = supervisionLimits.unnamedUid;
  return made ?? { uid: id, gid: id, unnamed: failure ?? `useradd made no user ${name}` };
}

async function findUser(): Promise<ServiceUser | undefined> {
  const line = (await readFile("/etc/passwd", "utf8")).split("\n").find((row) => row.startsWith(`${name}:`));
  if (line === undefined) return undefined;
  const [uid, gid] = line.split(":").slice(2, 4).map(Number);
  if (!(Number(uid) > 0) || !(Number(gid) > 0)) throw new AppError("forbidden", `the user ${name} is root`);
  return { uid: Number(uid), gid: Number(gid) };
}
