import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, opendir, readlink, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import type { HostEntry, HostListing, HostPiece } from "../core/host-access.ts";
import { hostLimits } from "./limits.ts";
import {
  type AllowedFolders,
  checkAllowed,
  checkPath,
  type OpenedPath,
  openFile,
  openFolder,
  pathOf,
} from "./open-within.ts";

export async function readPiece(
  allowed: AllowedFolders,
  path: string,
  { offset, length }: { offset: number; length: number },
): Promise<HostPiece> {
  const file = await openFile(allowed, path);
  try {
    const { dev, ino, size, mtimeNs } = await file.stat({ bigint: true });
    const bytes = Buffer.alloc(Math.min(length, hostLimits.fileBytes, Math.max(0, Number(size) - offset)));
    let done = 0;
    while (done < bytes.length) {
      const { bytesRead } = await file.read(bytes, done, bytes.length - done, offset + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return { bytes: bytes.subarray(0, done), sizeBytes: Number(size), version: [dev, ino, size, mtimeNs].join(":") };
  } finally {
    await file.close();
  }
}

/** Whole or not at all: beside its place first, then in it. What is replaced keeps its mode, and its other names their content. */
export async function writeWhole(allowed: AllowedFolders, path: string, bytes: Buffer): Promise<{ created: boolean }> {
  checkPath(path);
  const name = basename(path);
  if (path.endsWith("/") || name === "" || name === "." || name === "..")
    throw new AppError("invalid", `${path} is not the path of a file`);
  if (bytes.length > hostLimits.fileBytes)
    throw new AppError("too_large", `the content is too large (limit: ${hostLimits.fileBytes} bytes)`);
  const folder = await openFolder(allowed, dirname(path), "write");
  try {
    const inFolder = (one: string) => join(pathOf(folder.handle), one);
    checkAllowed(allowed, join(folder.real, name), path, "write");
    const mode = await modeOf(inFolder(name), path);
    const draft = inFolder(`.caisson-${randomBytes(8).toString("hex")}`);
    const file = await create(draft, path);
    try {
      await fill(file, bytes, mode ?? 0o644);
      await checkStill(allowed, folder, path);
      await rename(draft, inFolder(name));
    } catch (error) {
      await unlink(draft).catch(() => undefined);
      throw error;
    }
    return { created: mode === undefined };
  } finally {
    await folder.handle.close();
  }
}

/** Undefined where there is nothing yet. */
async function modeOf(place: string, path: string): Promise<number | undefined> {
  const info = await lstat(place).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (info === undefined) return undefined;
  if (!info.isFile()) throw new AppError("conflict", `cannot replace ${path}: it is not a regular file`);
  return info.mode & 0o777;
}

function create(draft: string, path: string): Promise<FileHandle> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  return open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600).catch((cause: unknown) => {
    throw new AppError("forbidden", `the user of host access cannot write ${path} (${errnoOf(cause)})`, { cause });
  });
}

async function fill(file: FileHandle, bytes: Buffer, mode: number): Promise<void> {
  try {
    await file.writeFile(bytes);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Somebody may have moved the folder since. */
async function checkStill(allowed: AllowedFolders, { handle }: OpenedPath, path: string): Promise<void> {
  checkAllowed(allowed, await readlink(pathOf(handle)), path, "write");
}

export async function listFolder(allowed: AllowedFolders, path: string): Promise<HostListing> {
  const folder = await openFolder(allowed, path, "read");
  try {
    const entries: HostEntry[] = [];
    const names = await opendir(pathOf(folder.handle)).catch((cause: unknown) => {
      throw new AppError("forbidden", `the user of host access cannot list ${path} (${errnoOf(cause)})`, { cause });
    });
    for await (const { name } of names) {
      if (entries.length === hostLimits.entries) return { entries: sorted(entries), truncated: true };
      const entry = await describe(join(pathOf(folder.handle), name), name);
      if (entry !== undefined) entries.push(entry);
    }
    return { entries: sorted(entries), truncated: false };
  } finally {
    await folder.handle.close();
  }
}

function sorted(entries: HostEntry[]): HostEntry[] {
  return entries.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** A link is told as one, never followed; undefined for what has gone meanwhile. */
async function describe(place: string, name: string): Promise<HostEntry | undefined> {
  const info = await lstat(place).catch(() => undefined);
  if (info === undefined) return undefined;
  const type = info.isFile() ? "file" : info.isDirectory() ? "folder" : info.isSymbolicLink() ? "link" : "other";
  return { name, type, size_bytes: info.size, modified_at: timeOf(info.mtimeMs) };
}

/** Times of files are whatever their owner set: before and past what can be written they are the nearest that can. */
function timeOf(ms: number): string {
  return new Date(Math.min(Math.max(ms, 0), Date.UTC(9999, 11, 31))).toISOString();
}
