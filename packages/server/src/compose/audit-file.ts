/** A daemon's audit log without the daemon; apart from app.ts, so that nobody else loads a database. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AuditVerdict, NotedRow } from "../core/audit.ts";
import { AppError, errnoOf } from "../core/errors.ts";
import { AuditReader } from "../store/audit/audit-reader.ts";
import { type AuditKey, readAuditKey } from "../store/audit/row-mac.ts";

export interface AuditFileOptions {
  /** Of the database. */
  path: string;
  /** Files with the keys of those who signed; that beside the database unless given. */
  keyFiles: readonly string[];
  /** Whether it is a copy, which may have come without the head that lies beside a daemon's own. */
  isCopy: boolean;
  /** The only one to verify. */
  namespace?: string;
  expected?: readonly NotedRow[];
}

async function readKey(path: string): Promise<AuditKey> {
  try {
    return readAuditKey(await readFile(path, "utf8"));
  } catch (error) {
    throw new AppError(errnoOf(error) === "ENOENT" ? "not_found" : "forbidden", `cannot read the key ${path}`, {
      hint: "add --key FILE: signing-key.pem of the daemon's folder, or its public key",
    });
  }
}

export function openAuditFile(path: string): Promise<AuditReader> {
  return AuditReader.open(path);
}

export async function verifyAuditFile({ path, keyFiles, isCopy, ...which }: AuditFileOptions): Promise<AuditVerdict> {
  await using reader = await openAuditFile(path);
  const files = keyFiles.length > 0 ? keyFiles : [join(dirname(path), "signing-key.pem")];
  const keys = await Promise.all(files.map(readKey));
  return await reader.verify({ keys, headNeeded: !isCopy, ...which });
}
