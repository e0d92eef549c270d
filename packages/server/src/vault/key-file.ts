import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { geteuid } from "node:process";
import { AppError, errnoOf } from "../core/errors.ts";
import { secretLimits } from "./limits.ts";
import { formatMasterKeys, type MasterKey, parseMasterKeys } from "./master-key.ts";

/** Undefined when there is none. One that others may read is not used. */
export async function readKeyFile(path: string): Promise<MasterKey[] | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { mode, uid, size } = await file.stat();
    if ((mode & 0o077) !== 0 || uid !== geteuid?.())
      throw new AppError("forbidden", `other users can read or write the vault's master key ${path}: it is not used`, {
        hint: "run chmod 600 on it; if others may have read it, also run caisson vault rotate",
      });
    if (size > secretLimits.keyFileBytes) throw new AppError("invalid", `${path} is not a master key`);
    return parseMasterKeys(await file.readFile("utf8"), path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Whole and durable before it has its name. A first one never takes the place of one that is there. */
export async function writeKeyFile(path: string, keys: readonly MasterKey[], isFirst: boolean): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    {
      await using file = await open(draft, "wx", 0o600);
      await file.writeFile(formatMasterKeys(keys));
      await file.sync();
    }
    if (isFirst) await link(draft, path);
    else await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  await using folder = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  await folder.sync();
}
