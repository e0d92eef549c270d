import { chmod, chown, lstat, mkdir } from "node:fs/promises";
import { geteuid } from "node:process";
import { AppError } from "../core/errors.ts";

/** A folder of this user, with this mode. One that is another's is refused, never taken over. */
export async function makeFolder(path: string, mode: number, group?: number): Promise<void> {
  await mkdir(path, { recursive: true, mode });
  const info = await lstat(path);
  if (!info.isDirectory() || info.uid !== geteuid?.())
    throw new AppError("forbidden", `${path} does not belong to this user`, { hint: "choose another CAISSON_HOME" });
  await give(path, mode, group);
}

/** To a group too, where one is named. */
export async function give(path: string, mode: number, group?: number): Promise<void> {
  if (group !== undefined) await chown(path, geteuid?.() ?? 0, group);
  await chmod(path, mode);
}
