import { constants } from "node:fs";
import { AppError } from "../core/errors.ts";
import type { FileInfo, FileType } from "../core/file.ts";
import { sandboxLimits } from "../core/limits.ts";

const rowBytes = 32;
/** In place of a name's size, in the last row of a list. */
const endMark = 0xffff_ffff;

const types = new Map<number, FileType>([
  [constants.S_IFREG, "file"],
  [constants.S_IFDIR, "directory"],
  [constants.S_IFLNK, "link"],
]);

export function typeOfMode(mode: number): FileType {
  return types.get(mode & constants.S_IFMT) ?? "other";
}

export interface Row {
  /** Undefined in the row that ends a list. */
  info: FileInfo | undefined;
  /** Bytes of the row with its names. */
  size: number;
}

/** One row of a worker's STAT or LIST, or undefined when it is not whole yet. */
export function parseRow(bytes: Buffer): Row | undefined {
  if (bytes.length < rowBytes) return undefined;
  const nameSize = bytes.readUInt32LE(4);
  const targetSize = bytes.readUInt32LE(8);
  if (nameSize === endMark) return { info: undefined, size: rowBytes };
  if (nameSize > sandboxLimits.pathBytes || targetSize > sandboxLimits.pathBytes)
    throw new AppError("unavailable", "invalid file list from the sandbox");
  const size = rowBytes + nameSize + targetSize;
  if (bytes.length < size) return undefined;
  const mode = bytes.readUInt32LE(0);
  const info: FileInfo = {
    name: bytes.toString("utf8", rowBytes, rowBytes + nameSize),
    type: typeOfMode(mode),
    size: Number(bytes.readBigUInt64LE(16)),
    mode: mode & 0o7777,
    mtimeMs: Number(bytes.readBigUInt64LE(24) / 1_000_000n),
  };
  if (info.type === "link") info.target = bytes.toString("utf8", rowBytes + nameSize, size);
  return { info, size };
}
