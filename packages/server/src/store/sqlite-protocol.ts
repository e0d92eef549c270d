import type { AuditEntry } from "../core/audit.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { VerifyInput } from "./audit/verify-checkpoints.ts";
import type { Migration } from "./migrate.ts";

export type SqlValue = string | number | bigint | null | Uint8Array;

/** What the worker is asked; `transaction` names the open one that it belongs to. */
export type Request = { id: number; transaction?: number } & (
  | { op: "read"; sql: string; parameters: readonly SqlValue[] }
  /** `isNew`: of a row under an id that nobody else was given, so that nothing that is there can contradict it. */
  | { op: "write"; sql: string; parameters: readonly SqlValue[]; isNew?: boolean }
  | { op: "append"; entry: AuditEntry; atMs: number }
  /** The answer names the transaction. */
  | { op: "begin" }
  | { op: "commit" | "rollback" }
  /** Answered when all that is committed is on the disk. */
  | { op: "sync" }
  | { op: "close" }
);

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

export type Answer = QueryAnswer | ChainHead | { transaction: number } | null;

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

/** Where the next record of the intake goes: behind one of that number, at this offset. */
export interface IntakeStart {
  salt: number;
  number: number;
  offset: number;
}

/** Requests, and the last record that was in the intake before them. */
export interface ToWorker {
  requests: Request[];
  taken: number;
}

/** All records up to this one are in the database, but for steps that it refused. */
export interface Drained {
  number: number;
  head: ChainHead | undefined;
  refused: ErrorNote[];
}

export type FromWorker =
  /** What it refused of the records that an earlier process left. */
  | { ready: true; intake: IntakeStart | undefined; refused: ErrorNote[] }
  | { failed: ErrorNote }
  | { replies: Reply[] }
  | { drained: Drained }
  /** All records up to this one are in the database on the disk. */
  | { kept: number }
  /** What is in the intake cannot be brought into the database now. */
  | { held: ErrorNote }
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
  /** Of its schema: those that it lacks are applied before anything is asked. */
  migrations?: readonly Migration[];
  walBytes?: number;
  transactionMs?: number;
  verify?: VerifyOrder;
}
