import type { AuditEntry } from "../core/audit.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { AuditHead } from "./audit/checkpoint.ts";
import type { AuditKey } from "./audit/row-mac.ts";
import type { VerifyInput } from "./audit/verify-checkpoints.ts";

export type SqlValue = string | number | bigint | null | Uint8Array;

/** What the worker is asked; `transaction` names the open one that it belongs to. */
export type WorkerRequest = { id: number; transaction?: number } & (
  | { op: "read" | "write"; sql: string; parameters: readonly SqlValue[] }
  /** Steps that are done together or not at all. */
  | { op: "batch"; steps: readonly BatchStep[]; atMs: number }
  /** Makes the audit log ready for entries; comes before the first of them. */
  | ({ op: "open-audit" } & OpenOrder)
  /** The answer names the transaction. */
  | { op: "begin" }
  | { op: "commit" | "rollback" }
  /** Answered when all that is committed is on the disk. */
  | { op: "sync" }
  | { op: "close" }
);

export type BatchStep =
  /** When it changes no row and one is required, the batch fails so. */
  | { op: "write"; sql: string; parameters: readonly SqlValue[]; required?: ErrorNote }
  | { op: "append"; entry: AuditEntry };

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
export type WorkerOperation = WithoutId<WorkerRequest>;

export interface StatementResult {
  rows: Record<string, unknown>[];
  changes: number;
}

/** The newest row of a chain. */
export interface ChainHead {
  namespace: string;
  position: number;
  sequence: number;
  hash: string;
  /** Of all rows that the chain has had. */
  bytes: number;
}

export interface OpenOrder {
  rowKey: Uint8Array;
  /** PEM. */
  publicKey: string;
  head: AuditHead | "missing" | "unreadable";
  atMs: number;
}

export interface OpenedChain {
  head: ChainHead;
  /** The newest; at 0 when there is none. */
  checkpoint: { sequence: number; atMs: number };
  /** `bytes` before the first row that is still there. */
  floorBytes: number;
}

export interface OpenedChains {
  chains: OpenedChain[];
}

/** The rows that a batch has added to the audit log, in their order. */
export interface Appended {
  appended: ChainHead[];
}

export type OperationResult = StatementResult | Appended | OpenedChains | { transaction: number } | null;

/** An error on its way between threads. */
export interface ErrorNote {
  message: string;
  /** SQLite's extended result code; the low byte is the kind. */
  code?: number;
  /** Of AppError, when the worker itself refuses. */
  refused?: ErrorCode;
  hint?: string;
}

export type Reply = { id: number; answer: OperationResult } | { id: number; error: ErrorNote };

export type FromWorker =
  | { ready: true }
  | { failed: ErrorNote }
  | { replies: Reply[] }
  /** Something went wrong that is nobody's request. */
  | { trouble: ErrorNote };

/** A thread that only verifies the audit log. */
export interface VerifyOrder extends Omit<VerifyInput, "keys" | "macs"> {
  keys: readonly AuditKey[];
  /** The only one to verify. */
  namespace?: string;
}

export interface WorkerOptions {
  path: string;
  readOnly?: boolean;
  /** Creates the tables of the store in a new database, and refuses one of another version. */
  hasTables?: boolean;
  walBytes?: number;
  transactionMs?: number;
  verify?: VerifyOrder;
}
