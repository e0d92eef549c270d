import type { DatabaseSync } from "node:sqlite";
import type { ChainVerdict } from "../../core/audit.ts";
import { fromRow, signatureProblem } from "./checkpoint.ts";
import { rowProblem } from "./row-problem.ts";
import { CheckpointCheck, type Note, type VerifyInput } from "./verify-checkpoints.ts";

/** Walks one chain and fills in its verdict. */
export function verifyChain(db: DatabaseSync, input: VerifyInput, verdict: ChainVerdict, note: Note): void {
  const { namespace } = verdict;
  const anchorRow = db
    .prepare("select * from audit_checkpoints where namespace = ? and kind = 'anchor' order by sequence desc")
    .get(namespace);
  const anchor = anchorRow === undefined ? undefined : fromRow(anchorRow);
  if (anchor !== undefined) {
    const problem = signatureProblem(anchor, input.keys);
    if (problem !== undefined) note(anchor.sequence, `the anchor of the pruned log ${problem}`);
    verdict.pruned = anchor.sequence;
    verdict.last = anchor.sequence;
    verdict.hash = anchor.hash;
  }
  const checkpoints = new CheckpointCheck(db, input, verdict, note);
  checkpoints.at(verdict.last, verdict.hash);
  for (const row of db.prepare("select * from audit where namespace = ? order by sequence").iterate(namespace)) {
    const sequence = Number(row.sequence);
    if (sequence <= verdict.last) {
      note(sequence, "stands before the beginning of the log");
      continue;
    }
    const gap = sequence - verdict.last - 1;
    const problem = gap > 0 ? undefined : (rowProblem(row, verdict.hash) ?? checkpoints.macProblem(row));
    if (gap > 0) note(verdict.last + 1, gap === 1 ? "is missing" : `is missing, and all up to row ${sequence - 1}`);
    if (problem !== undefined) note(sequence, problem);
    if (row.type === "audit.broken") note(sequence, `says that the log was found broken: ${String(row.detail)}`);
    if (verdict.rows++ === 0) verdict.first = sequence;
    verdict.last = sequence;
    verdict.hash = String(row.hash);
    checkpoints.at(sequence, verdict.hash);
  }
  verdict.checkpoints = checkpoints.finish(verdict.last);
  if (input.macs.size === 0) verdict.unvouched = Math.max(0, verdict.last - checkpoints.signedThrough);
}
