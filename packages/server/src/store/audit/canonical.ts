import type { AuditEntry, AuditValue } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";

const maxDepth = 16;

/** SQLite ends a text at a NUL in places, and UTF-8 has no lone surrogates: what is hashed is what can be kept. */
export function storable(text: string): string {
  if (text.isWellFormed() && !text.includes("\0")) return text;
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

/**
 * The one way to write a value (RFC 8785): keys in the order of their UTF-16 code units, no space, numbers as ECMAScript
 * writes them. What JSON cannot say is refused.
 */
export function canonical(value: AuditValue | undefined, depth = 0): string {
  if (depth > maxDepth) throw new AppError("invalid", `an audit entry is nested more than ${maxDepth} deep`);
  if (typeof value === "string") return JSON.stringify(storable(value));
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value))
      throw new AppError("invalid", "an audit entry contains a number that JSON does not support");
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  if (typeof value === "object") return canonicalObject(value as { [key: string]: AuditValue }, depth);
  throw new AppError("invalid", `an audit entry cannot contain a ${typeof value}`);
}

function canonicalObject(value: { readonly [key: string]: AuditValue | undefined }, depth: number): string {
  const names = Object.keys(value).sort();
  for (const name of names) if (storable(name) !== name) return canonicalObject(withStorableNames(value), depth);
  let text = "";
  for (const name of names) {
    const item = value[name];
    if (item === undefined) continue;
    if (text !== "") text += ",";
    text += `${JSON.stringify(name)}:${canonical(item, depth + 1)}`;
  }
  return `{${text}}`;
}

function withStorableNames(value: { readonly [key: string]: AuditValue | undefined }) {
  const seen = new Map<string, AuditValue>();
  for (const [key, item] of Object.entries(value)) if (item !== undefined) seen.set(storable(key), item);
  return Object.fromEntries(seen);
}

/** The columns of a row as they are kept: detail is canonical text already. */
export interface ChainedRow extends Omit<AuditEntry, "detail" | "runId"> {
  sequence: number;
  atMs: number;
  runId: string | null;
  detail: string;
}

/** What the hash of a row covers beside the hash before it. */
export function canonicalRow(row: ChainedRow): string {
  const text = (value: string | null) => (value === null ? "null" : JSON.stringify(value));
  return (
    `{"actor":${text(row.actor)},"atMs":${row.atMs},"detail":${row.detail},"namespace":${text(row.namespace)},` +
    `"requestId":${text(row.requestId)},"runId":${text(row.runId)},"sandboxId":${text(row.sandboxId)},` +
    `"sequence":${row.sequence},"type":${text(row.type)}}`
  );
}
