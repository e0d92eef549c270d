import { constants } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { auditLimits } from "../limits.ts";
import type { AuditHead } from "./checkpoint.ts";

/** Beside the database, so that what is cut off it is missed. */
export function headPathOf(databasePath: string): string {
  return join(dirname(databasePath), "audit-head.json");
}

function hasFields(value: unknown, texts: readonly string[], numbers: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Record<string, unknown>;
  return (
    texts.every((name) => typeof fields[name] === "string") && numbers.every((n) => Number.isSafeInteger(fields[n]))
  );
}

function isHead(value: unknown): value is AuditHead {
  if (!hasFields(value, ["keyId", "signature"], ["atMs"])) return false;
  const { chains } = value as AuditHead;
  return (
    Array.isArray(chains) && chains.every((chain) => hasFields(chain, ["namespace", "hash"], ["sequence", "previous"]))
  );
}

/** Undefined when there is none; throws on one that cannot be read. */
export async function readHead(path: string): Promise<AuditHead | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size } = await file.stat();
    if (size <= auditLimits.headBytes) {
      const value: unknown = JSON.parse(await file.readFile("utf8"));
      if (isHead(value)) return value;
    }
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new AppError("invalid", `${path} is not the head of an audit log`);
}

/** By rename: a reader sees the old one or the new one. */
export async function writeHead(path: string, head: AuditHead): Promise<void> {
  const temporary = `${path}.new`;
  {
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
    await using file = await open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
    await file.writeFile(`${JSON.stringify(head)}\n`);
    await file.datasync();
  }
  await rename(temporary, path);
}
