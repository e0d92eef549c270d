import { type ChainedRow, canonical } from "./canonical.ts";
import { hashRow } from "./chain.ts";

export type SqlRow = Record<string, unknown>;

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

/** What is wrong with a row of the table, given the hash before it; undefined when it is as it was written. */
export function rowProblem(row: SqlRow, previous: string): string | undefined {
  const chained = toChained(row);
  if (chained === undefined || !isCanonical(chained.detail)) return "holds what was never written so";
  return hashRow(previous, chained) === row.hash ? undefined : "does not match its hash";
}
