import type { DatabaseSync } from "node:sqlite";
import type { AuditVerdict } from "../../core/audit.ts";
import { messageOf } from "../../core/errors.ts";
import { auditLimits } from "../../core/store-limits.ts";
import { type ChainedRow, canonical } from "./canonical.ts";
import { genesisHash, hashRow } from "./chain.ts";
import { fromRow, signatureProblem } from "./checkpoint.ts";
import { CheckpointCheck, type Note, type VerifyInput } from "./verify-checkpoints.ts";

type SqlRow = Record<string, unknown>;

const text = (value: unknown) => typeof value === "string";

/** Undefined when a column holds what no append puts there. */
function toChained(row: SqlRow): ChainedRow | undefined {
  const { sequence, at_ms, type, namespace, actor, sandbox_id, request_id, run_id, detail } = row;
  const texts = [type, namespace, actor, detail].every(text);
  const named = [sandbox_id, request_id, run_id].every((value) => value === null || text(value));
  if (!texts || !named || !Number.isSafeInteger(at_ms)) return undefined;
  return {
    sequence: Number(sequence),
    atMs: Number(at_ms),
    type: String(type),
    namespace: String(namespace),
    actor: String(actor),
    sandboxId: sandbox_id === null ? null : String(sandbox_id),
    requestId: request_id === null ? null : String(request_id),
    runId: run_id === null ? null : String(run_id),
    detail: String(detail),
  };
}

function isCanonical(detail: string): boolean {
  try {
    return canonical(JSON.parse(detail)) === detail;
  } catch {
    return false;
  }
}

function rowProblem(row: SqlRow, previous: string): string | undefined {
  const chained = toChained(row);
  if (chained === undefined || !isCanonical(chained.detail)) return "holds what was never written so";
  return hashRow(previous, chained) === row.hash ? undefined : "does not match its hash";
}

/** Walks the whole chain, row by row. Finds what was changed, taken out, put in, put in another order, or cut off. */
export function verifyChain(db: DatabaseSync, input: VerifyInput): AuditVerdict {
  const problems: AuditVerdict["problems"] = [];
  const note: Note = (sequence, what) => {
    if (problems.length < auditLimits.problems) problems.push({ sequence, what });
  };
  const verdict: AuditVerdict = {
    ok: false,
    rows: 0,
    first: 0,
    last: 0,
    hash: genesisHash,
    pruned: 0,
    checkpoints: 0,
    problems,
  };
  // One view of the log, whatever is appended meanwhile.
  db.exec("BEGIN");
  try {
    walk(db, input, verdict, note);
  } catch (error) {
    note(verdict.last + 1, `cannot be read from here on: ${messageOf(error)}`);
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
  verdict.ok = problems.length === 0;
  return verdict;
}

function walk(db: DatabaseSync, input: VerifyInput, verdict: AuditVerdict, note: Note): void {
  const anchorRow = db.prepare("select * from audit_checkpoints where kind = 'anchor' order by sequence desc").get();
  const anchor = anchorRow === undefined ? undefined : fromRow(anchorRow);
  if (anchor !== undefined) {
    const problem = signatureProblem(anchor, input.keys);
    if (problem !== undefined) note(anchor.sequence, `the anchor of the pruned log ${problem}`);
    verdict.pruned = anchor.sequence;
    verdict.last = anchor.sequence;
    verdict.hash = anchor.hash;
  }
  const checkpoints = new CheckpointCheck(db, input, verdict.pruned, note);
  checkpoints.at(verdict.last, verdict.hash);
  for (const row of db.prepare("select * from audit order by sequence").iterate()) {
    const sequence = Number(row.sequence);
    if (sequence <= verdict.last) {
      note(sequence, "stands before the beginning of the log");
      continue;
    }
    const gap = sequence - verdict.last - 1;
    if (gap > 0) note(verdict.last + 1, gap === 1 ? "is missing" : `is missing, and all up to row ${sequence - 1}`);
    else {
      const problem = rowProblem(row, verdict.hash);
      if (problem !== undefined) note(sequence, problem);
    }
    if (row.type === "audit.broken") note(sequence, `says that the log was found broken: ${String(row.detail)}`);
    if (verdict.rows++ === 0) verdict.first = sequence;
    verdict.last = sequence;
    verdict.hash = String(row.hash);
    checkpoints.at(sequence, verdict.hash);
  }
  verdict.checkpoints = checkpoints.finish(verdict.last);
}
