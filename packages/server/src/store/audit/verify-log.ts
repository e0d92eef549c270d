import type { DatabaseSync } from "node:sqlite";
import type { AuditVerdict, ChainVerdict } from "../../core/audit.ts";
import { messageOf } from "../../core/errors.ts";
import { auditLimits } from "../limits.ts";
import type { VerifyOrder } from "../sqlite-protocol.ts";
import { genesisHash } from "./chain.ts";
import { chainNames } from "./chain-names.ts";
import { readKeys, signatureProblem } from "./checkpoint.ts";
import { RowMac } from "./row-mac.ts";
import { verifyChain } from "./verify-chain.ts";
import type { VerifyInput } from "./verify-checkpoints.ts";

/** Walks every chain, row by row. Finds what was changed, taken out, put in, put in another order, or cut off, whole chains too. */
export function verifyLog(db: DatabaseSync, order: VerifyOrder): AuditVerdict {
  const problems: AuditVerdict["problems"] = [];
  const note = (namespace: string | null, sequence: number | null, what: string) => {
    if (problems.length < auditLimits.problems) problems.push({ namespace, sequence, what });
  };
  const input = readInput(order);
  const headProblem = problemOfHead(input);
  if (headProblem !== undefined) {
    note(null, null, `the head outside the database (audit-head.json) ${headProblem}`);
    delete input.head;
  }
  const chains: ChainVerdict[] = [];
  // One view of the log, whatever is appended meanwhile.
  db.exec("BEGIN");
  try {
    for (const namespace of namesOf(db, input, order.namespace)) {
      const verdict = newVerdict(namespace);
      chains.push(verdict);
      try {
        verifyChain(db, input, verdict, (sequence, what) => note(namespace, sequence, what));
      } catch (error) {
        note(namespace, verdict.last + 1, `cannot be read from here on: ${messageOf(error)}`);
      }
    }
  } catch (error) {
    note(null, null, `the log cannot be read: ${messageOf(error)}`);
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
  const rows = chains.reduce((sum, chain) => sum + chain.rows, 0);
  return { ok: problems.length === 0, rows, chains, problems };
}

function readInput({ keys, head, expected }: VerifyOrder): VerifyInput {
  const known = readKeys(keys.map(({ publicKey }) => publicKey));
  const macs = new Map<string, RowMac>();
  for (const { publicKey, rowKey } of keys)
    for (const id of readKeys([publicKey]).keys()) if (rowKey !== undefined) macs.set(id, new RowMac(rowKey));
  return { keys: known, macs, head, ...(expected === undefined ? {} : { expected }) };
}

function problemOfHead({ head, keys }: VerifyInput): string | undefined {
  if (head === undefined) return undefined;
  return typeof head === "string" ? `is ${head}` : signatureProblem(head, keys);
}

function namesOf(db: DatabaseSync, { head, expected = [] }: VerifyInput, only: string | undefined): string[] {
  if (only !== undefined) return [only];
  const ends = typeof head === "object" ? head.chains : [];
  return [...new Set([...chainNames(db), ...[...ends, ...expected].map(({ namespace }) => namespace)])].sort();
}

function newVerdict(namespace: string): ChainVerdict {
  return { namespace, rows: 0, first: 0, last: 0, hash: genesisHash, pruned: 0, checkpoints: 0, unvouched: 0 };
}
