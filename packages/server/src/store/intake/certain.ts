import type { AuditEntry, AuditValue } from "../../core/audit.ts";
import { auditLimits } from "../../core/store-limits.ts";
import type { Request, SqlValue } from "../sqlite-protocol.ts";

/** What a database that can be written has no reason to refuse, and JSON can say: it can be acknowledged before it is there. */
export function isCertain(request: Request): boolean {
  if (request.transaction !== undefined) return false;
  if (request.op === "append") return isPlain(request.entry);
  return request.op === "write" && request.isNew === true && request.parameters.every(isSayable);
}

/** Flat and short: the row that it becomes has nothing to be refused for, but its length, which is its record's. */
function isPlain({ type, namespace, actor, sandboxId, requestId, detail }: AuditEntry): boolean {
  if (!isName(type) || !isName(namespace) || !isName(actor)) return false;
  if ((sandboxId !== null && !isName(sandboxId)) || (requestId !== null && !isName(requestId))) return false;
  for (const name in detail) if (!isScalar(detail[name])) return false;
  return true;
}

const isName = (text: string) => text.length <= auditLimits.nameCharacters;

function isScalar(value: AuditValue | undefined): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return true;
    case "number":
      return Number.isFinite(value);
    default:
      return value === null;
  }
}

const isSayable = (value: SqlValue) =>
  value === null || typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
