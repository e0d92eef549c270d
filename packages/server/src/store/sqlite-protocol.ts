import type { AuditEntry } from "../core/audit.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { VerifyInput } from "./audit/verify-checkpoints.ts";

export type SqlValue = string | number | bigint | null | Uint8Array;

/** What the worker is asked; `transaction` names the open one that it belongs to. */
export type Request = { id: number; transaction?: number } & (
  | { op: "read" | "write"; sql: string; parameters: readonly SqlValue[] }
  /** Steps that are done together or not at all. */
  | { op: "batch"; steps: readonly BatchStep[]; atMs: number }
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
export type Ask = WithoutId<Request>;

export interface QueryAnswer {
  rows: Record<string, unknown>[];
  changes: number;
}

/** Where the chain ends. */
export interface ChainHead {
  sequence: number;
  hash: string;
}

/** The rows that a batch has added to the audit log, in their order. */
export interface Appended {
  appended: ChainHead[];
}

export type Answer = QueryAnswer | Appended | { transaction: number } | null;

/** An error on its way between threads. */
export interface ErrorNote {
  message: string;
  /** SQLite's extended result code; the low byte is the kind. */
  code?: number;
  /** Of AppError, when the worker itself refuses. */
  refused?: ErrorCode;
  hint?: string;
}

export type Reply = { id: number; answer: Answer } | { id: number; error: ErrorNote };

export type FromWorker =
  | { ready: true }
  | { failed: ErrorNote }
  | { replies: Reply[] }
  /** Something went wrong that is nobody's request. */
  | { trouble: ErrorNote };

/** A thread that only verifies the audit log. */
export interface VerifyOrder extends Omit<VerifyInput, "keys"> {
  /** PEM. */
  keys: readonly string[];
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
