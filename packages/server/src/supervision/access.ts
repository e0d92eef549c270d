import { chmod, chown, lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { geteuid } from "node:process";
import { AppError, errnoOf } from "../core/errors.ts";
import type { Layout } from "./layout.ts";
import type { ServiceUser } from "./service-user.ts";

/** The folders of a data folder, each with whom it belongs to. What exists under another owner is refused, never taken over. */
export async function makeFolders(layout: Layout, user: ServiceUser | undefined): Promise<void> {
  const self = geteuid?.() ?? 0;
  await makeHome(layout.home);
  await makeFolder(layout.run, { uid: self, mode: 0o711, exact: true });
  await makeFolder(layout.daemon, { uid: self, ...user, mode: 0o700, exact: true });
}

/** One that exists keeps its mode, be it closed to others. */
export async function makeHome(home: string): Promise<void> {
  await makeFolder(home, { uid: geteuid?.() ?? 0, mode: 0o711 });
}

interface FolderTerms {
  uid: number;
  /** Given to it where it is made for another user. */
  gid?: number;
  mode: number;
  /** Also of a folder that was there. */
  exact?: boolean;
}

export async function makeFolder(path: string, { uid, gid, mode, exact = false }: FolderTerms): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode });
  } catch (error) {
    throw new AppError("unavailable", `cannot create the folder ${path}: ${errnoOf(error)}`, {
      hint: "set CAISSON_HOME to a folder that you can write",
      cause: error,
    });
  }
  const info = await lstat(path);
  const self = geteuid?.() ?? 0;
  if (!info.isDirectory() || (info.uid !== uid && info.uid !== self))
    throw new AppError("forbidden", `${path} does not belong to this user`, {
      hint: "set CAISSON_HOME to another folder",
    });
  if (info.uid !== uid && gid !== undefined) await chown(path, uid, gid);
  if (exact) await chmod(path, mode);
}

/** Readable by whoever started it alone, whole or not there. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
