import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import type { AuditQuery, AuditRow } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";
import { auditLimits } from "../limits.ts";
import type { AuditTableRow, Schema } from "../schema.ts";

function toAuditRow(row: AuditTableRow): AuditRow {
  const { position, sequence, at_ms, type, namespace, actor, sandbox_id, request_id, run_id, detail, hash } = row;
  return {
    position,
    sequence,
    atMs: at_ms,
    type,
    namespace,
    actor,
    sandboxId: sandbox_id,
    requestId: request_id,
    runId: run_id,
    detail: JSON.parse(detail),
    hash,
  };
}

/** A pattern for LIKE that finds the text as it is, ! being the escape. Only ASCII letters have two cases to SQLite. */
function containing(text: string): string {
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return `%${lower.replace(/[!%_]/g, "!$&")}%`;
}

/** By the index of sandboxes: nobody goes through the whole log for an id that it does not have. */
export async function findMaking(db: Kysely<Schema>, sandboxId: string): Promise<AuditRow | undefined> {
  const row = await db
    .selectFrom("audit")
    .selectAll()
    .where("sandbox_id", "=", sandboxId)
    .where("type", "=", "sandbox.created")
    .orderBy("position")
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : toAuditRow(row);
}

type Rows = SelectQueryBuilder<Schema, "audit", AuditTableRow>;

function filtered(rows: Rows, query: AuditQuery): Rows {
  let found = rows;
  if (query.namespace !== undefined) found = found.where("namespace", "=", query.namespace);
  if (query.sandboxId !== undefined) found = found.where("sandbox_id", "=", query.sandboxId);
  if (query.actor !== undefined) found = found.where("actor", "=", query.actor);
  if (query.type !== undefined) found = found.where("type", "=", query.type);
  if (query.runId !== undefined) found = found.where("run_id", "=", query.runId);
  if (query.fromMs !== undefined) found = found.where("at_ms", ">=", query.fromMs);
  if (query.toMs !== undefined) found = found.where("at_ms", "<", query.toMs);
  const { text } = query;
  if (text === undefined || text === "") return found;
  const plain = containing(text);
  // In the detail a text stands as JSON writes it.
  const written = containing(JSON.stringify(text).slice(1, -1));
  return found.where(
    sql<boolean>`(lower(type) like ${plain} escape '!' or lower(actor) like ${plain} escape '!'
      or lower(detail) like ${written} escape '!')`,
  );
}

/** By the index of runs: an id that the log does not have costs one look. */
async function findRun(db: Kysely<Schema>, query: AuditQuery, limit: number): Promise<AuditRow[]> {
  const { after, before = Number.MAX_SAFE_INTEGER } = query;
  const rows = filtered(db.selectFrom("audit").selectAll(), query)
    .where("position", ">", after ?? 0)
    .where("position", "<", before)
    .orderBy("position", after === undefined ? "desc" : "asc")
    .limit(limit);
  return (await rows.execute()).map(toAuditRow);
}

/** Newest first, unless rows after a position are asked for. Goes through the log window by window, so that appends go on. */
export async function searchAudit(db: Kysely<Schema>, query: AuditQuery): Promise<AuditRow[]> {
  if ((query.text ?? "").length > auditLimits.searchCharacters)
    throw new AppError("invalid", `the search text is too long (limit: ${auditLimits.searchCharacters} characters)`);
  const { default: usual, min, max } = auditLimits.searched;
  const limit = Math.max(min, Math.min(max, query.limit ?? usual));
  if (query.runId !== undefined) return findRun(db, query, limit);
  const upward = query.after !== undefined;
  const ends = await db
    .selectFrom("audit")
    .select(({ fn }) => [fn.min("position").as("first"), fn.max("position").as("last")])
    .executeTakeFirst();
  const first = Math.max(Number(ends?.first ?? 1), (query.after ?? 0) + 1);
  const last = Math.min(Number(ends?.last ?? 0), (query.before ?? Number.MAX_SAFE_INTEGER) - 1);
  const found: AuditRow[] = [];
  const window = auditLimits.searchWindow;
  for (let done = 0; first + done <= last && found.length < limit; done += window) {
    const low = upward ? first + done : Math.max(first, last - done - window + 1);
    const high = upward ? Math.min(last, low + window - 1) : last - done;
    const rows = filtered(db.selectFrom("audit").selectAll(), query)
      .where("position", ">=", low)
      .where("position", "<=", high)
      .orderBy("position", upward ? "asc" : "desc")
      .limit(limit - found.length);
    found.push(...(await rows.execute()).map(toAuditRow));
  }
  return found;
}
