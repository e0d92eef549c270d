/** What a sandbox left in /workspace/output, kept past its end for a set time (LIF-13). */
export interface KeptArtifacts {
  /** Of the sandbox. */
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
  put(record: KeptArtifacts): Promise<void>;
  get(id: string): Promise<KeptArtifacts | undefined>;
  list(query: KeptArtifactsQuery): Promise<KeptArtifacts[]>;
  usage(namespace: string): Promise<{ count: number; totalBytes: number }>;
  delete(id: string): Promise<void>;
  /** Those whose time is over. */
  expired(nowMs: number): Promise<KeptArtifacts[]>;
  manifests(): Promise<string[]>;
}
