export type AuditValue =
  | string
  | number
  | boolean
  | null
  | readonly AuditValue[]
  | { readonly [key: string]: AuditValue };

export const contentPolicies = ["none", "redacted", "full"] as const;
export type ContentPolicy = (typeof contentPolicies)[number];

/**
 * Arguments and result of a tool call, kept beside the row that has their digests: no hash of the chain covers them, so they
 * can be erased.
 */
export interface AuditContent {
  /** `redacted`: without the values of the namespace's secrets. `full`: as they were, for administrators alone. */
  kind: Exclude<ContentPolicy, "none">;
  arguments: string;
  result: string;
  /** One of them was longer than what is kept of it. */
  truncated: boolean;
}

/** One thing that was done, or refused. It names things and holds hashes of them: never contents, output, tokens or prompts. */
export interface AuditEntry {
  /** Words with dots, as events are called: `sandbox.created`, `execution.completed`, `file.written`, `key.revoked`. */
  type: string;
  namespace: string;
  /** The principal's id, or `system`. */
  actor: string;
  sandboxId: string | null;
  requestId: string | null;
  /** The run that it is about; absent for all else. */
  runId?: string;
  detail: { readonly [key: string]: AuditValue };
  content?: AuditContent;
}

/** An entry in its place in the chain. */
export interface AuditRow extends Omit<AuditEntry, "runId" | "content"> {
  runId: string | null;
  /** Grows over the whole store: the order of the timeline, and the cursor of its readers. */
  position: number;
  /** In the chain of its namespace: from 1, without gaps. */
  sequence: number;
  atMs: number;
  /** SHA-256 over the hash before it and this row's canonical form; hex. */
  hash: string;
}

/** Position of an entry: in the order of the whole store, and in its chain. */
export interface AuditPosition {
  position: number;
  sequence: number;
  atMs: number;
}

export interface AuditQuery {
  /** Undefined: of all namespaces. */
  namespace?: string;
  sandboxId?: string;
  actor?: string;
  type?: string;
  runId?: string;
  /** In type, actor or detail. */
  text?: string;
  fromMs?: number;
  toMs?: number;
  /** Rows after this position, oldest first; or before it, newest first. */
  after?: number;
  before?: number;
  limit?: number;
}

export interface ChainVerdict {
  namespace: string;
  rows: number;
  /** The first and the last row there is; 0 when there is none. */
  first: number;
  last: number;
  /** Hash of the last row, or of the row before the first. Noted elsewhere, it proves all rows up to it. */
  hash: string;
  /** Rows up to this one were pruned; 0 when none were. */
  pruned: number;
  checkpoints: number;
  /** The last rows, behind the newest signature, that a public key alone cannot vouch for. */
  unvouched: number;
}

export interface AuditVerdict {
  ok: boolean;
  rows: number;
  /** One of each namespace, by name. */
  chains: ChainVerdict[];
  /** Problems, most important first; empty when the log is valid. Null: it concerns the whole log, or the whole chain. */
  problems: { namespace: string | null; sequence: number | null; what: string }[];
}

/** Hash of a row of a chain, from an earlier `verify`. */
export type NotedRow = Pick<ChainVerdict, "namespace" | "hash"> & { sequence: number };

/** The timeline. */
export interface Audit {
  /**
   * Resolves with its place when the entry would survive a kill -9: await it before an effect is acknowledged. Rejects when
   * it could not be written.
   */
  record(entry: AuditEntry): Promise<AuditPosition>;
  search(query: AuditQuery): Promise<AuditRow[]>;
  /** Content of the row at that position; undefined where it has none, or none any more. */
  content(position: number, namespace?: string): Promise<AuditContent | undefined>;
  /** Erases the content of rows from before that time; the rows and their digests stay. Returns how many. */
  eraseContent(beforeMs: number): Promise<number>;
  /** The row of a sandbox's making, which says whose it is, or was; undefined where the log has none, or none any more. */
  making(sandboxId: string): Promise<AuditRow | undefined>;
  /** Verifies one namespace, or the whole log. */
  verify(namespace?: string): Promise<AuditVerdict>;
  /**
   * Removes the oldest rows of each namespace, up to the first one that is from its time or later; the rest verifies as
   * before. Resolves with how many rows went.
   */
  prune(beforeMs: (namespace: string) => number): Promise<number>;
  /** Size of the rows of a namespace, as the limit of a namespace counts them. */
  bytes(namespace: string): number;
  /** Removes the oldest rows of one namespace in the same way, down to about that size, but none from that time or later. */
  shrink(namespace: string, to: { bytes: number; beforeMs: number }): Promise<number>;
}
