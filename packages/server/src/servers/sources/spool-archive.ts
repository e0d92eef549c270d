import { createHash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { AppError, explainFullDisk } from "../../core/errors.ts";
import type { ArchiveBody } from "../../core/server.ts";
import { serverLimits } from "../limits.ts";

export interface SpooledArchive {
  path: string;
  /** Digest of the archive as it was sent, in hexadecimal. */
  sha256: string;
  bytes: number;
}

const gzip = Buffer.from([0x1f, 0x8b]);

/** Stores an upload in a new file, unread but for its first bytes: a sandbox unpacks it (S112). The file is gone if this fails. */
export async function spoolArchive(
  path: string,
  body: ArchiveBody,
  { archiveBytes }: { archiveBytes: number } = serverLimits,
): Promise<SpooledArchive> {
  await using file = await open(path, "wx", 0o600);
  try {
    return { path, ...(await write(file, body, archiveBytes)) };
  } catch (error) {
    await rm(path, { force: true });
    throw explainFullDisk(error, "uploads");
  }
}

async function write(file: FileHandle, body: ArchiveBody, most: number): Promise<Omit<SpooledArchive, "path">> {
  const hash = createHash("sha256");
  let head: Buffer = Buffer.alloc(0);
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > most) throw tooLarge(most);
    if (head.length < gzip.length) {
      head = Buffer.concat([head, piece]).subarray(0, gzip.length);
      if (!gzip.subarray(0, head.length).equals(head)) throw notAnArchive();
    }
    hash.update(piece);
    await file.writeFile(piece);
  }
  if (head.length < gzip.length) throw notAnArchive();
  await file.sync();
  return { sha256: hash.digest("hex"), bytes };
}

function tooLarge(most: number): AppError {
  return new AppError("too_large", `the archive is too large (limit: ${Math.floor(most / 1024 ** 2)} MB)`, {
    hint: "leave out what the server does not need: installed packages, data, .git",
    details: { limit_bytes: most },
  });
}

function notAnArchive(): AppError {
  return new AppError("invalid", "the upload is not a gzipped tar archive", { hint: archiveHint });
}

export const archiveHint = "make one with: tar -czf server.tar.gz server.py requirements.txt";
