import type { Batch } from "./batch.ts";
/** Files that a sandbox left in /workspace/output, kept past its end for a set time (LIF-13). */
export interface KeptArtifacts {
  /** Id of the sandbox. */
  id: string;
  namespace: string;
  /** The digest of its files' manifest in the blob store. */
  manifest: string;
  files: number;
  totalBytes: number;
  createdAtMs: number;
  expiresAtMs: number;
  createdBy: string;
}

export interface KeptArtifactsQuery {
  namespace: string;
  /** The id after which a page begins. */
  cursor?: string;
  limit: number;
}

export interface KeptArtifactsRecords {
  /** In place of what was kept of the same sandbox before. */
  put(record: KeptArtifacts, within?: Batch): Promise<void>;
  get(id: string): Promise<KeptArtifacts | undefined>;
  list(query: KeptArtifactsQuery): Promise<KeptArtifacts[]>;
  usage(namespace: string): Promise<{ count: number; totalBytes: number }>;
  /** With a time, only if its own is over by then. */
  delete(id: string, expiredAtMs?: number, within?: Batch): Promise<void>;
  /** Those whose time is over, a page of them. */
  expired(nowMs: number): Promise<KeptArtifacts[]>;
  /** Manifests of all; with a time, of those that have not expired by then. */
  manifests(nowMs?: number): Promise<string[]>;
}
