import { constants } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { auditLimits } from "../../core/store-limits.ts";
import type { Checkpoint } from "./checkpoint.ts";

/** Beside the database, so that what is cut off it is missed. */
export function headPathOf(databasePath: string): string {
  return join(dirname(databasePath), "audit-head.json");
}

function isCheckpoint(value: unknown): value is Checkpoint {
  if (typeof value !== "object" || value === null) return false;
  const { kind, sequence, hash, atMs, previous, keyId, signature } = value as Record<string, unknown>;
  const numbers = [sequence, atMs, previous].every((number) => Number.isSafeInteger(number));
  return kind === "head" && numbers && [hash, keyId, signature].every((text) => typeof text === "string");
}

/** Undefined when there is none; throws on one that cannot be read. */
export async function readHead(path: string): Promise<Checkpoint | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const buffer = Buffer.alloc(auditLimits.headBytes);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    const value: unknown = JSON.parse(buffer.toString("utf8", 0, bytesRead));
    if (isCheckpoint(value)) return value;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new AppError("invalid", `${path} is not the head of an audit log`);
}

/** By rename: whoever reads it sees the old one or the new one. */
export async function writeHead(path: string, head: Checkpoint): Promise<void> {
  const temporary = `${path}.new`;
  {
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
    await using file = await open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
    await file.writeFile(`${JSON.stringify(head)}\n`);
    await file.datasync();
  }
  await rename(temporary, path);
}
