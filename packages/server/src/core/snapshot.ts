import type { Batch } from "./batch.ts";
import type { TreeEntry } from "./tree.ts";

/** The files of a workspace at one time. It outlives its sandbox. */
export interface SnapshotRecord {
  id: string;
  namespace: string;
  sandboxId: string;
  description: string;
  createdAtMs: number;
  createdBy: string;
  /** Digest of the list of its names in the blob store. */
  manifest: string;
  files: number;
  folders: number;
  links: number;
  /** Size of all files together. */
  totalBytes: number;
  /** Bytes that the store grew by. */
  addedBytes: number;
  /** Sockets, FIFOs and devices, which are not in it. */
  skipped: number;
  /** Entries that the sandbox's user could not read. */
  unreadable: number;
  /** Files that became shorter while they were read. */
  changed: number;
  /** Hosted server whose data it holds: found by that server's use case alone (S120). */
  serverId: string | null;
}

export interface SnapshotQuery {
  namespace: string;
  /** Null: those of no server. */
  serverId: string | null;
  sandboxId?: string;
  /** Ids after this one, newest first. */
  cursor?: string;
  limit: number;
}

export interface SnapshotUsage {
  count: number;
  /** Sum of what each one added when it was taken. */
  addedBytes: number;
}

export interface SnapshotRecords {
  insert(record: SnapshotRecord, within?: Batch): Promise<void>;
  get(id: string): Promise<SnapshotRecord | undefined>;
  list(query: SnapshotQuery): Promise<SnapshotRecord[]>;
  usage(of: Pick<SnapshotQuery, "namespace" | "sandboxId">): Promise<SnapshotUsage>;
  delete(id: string, within?: Batch): Promise<void>;
  /** Manifests of all snapshots. */
  manifests(): Promise<string[]>;
}

/** Differences between two trees. Entries that differ only in times are left out. */
export interface SnapshotDiff {
  created: DiffEntry[];
  modified: DiffEntry[];
  deleted: DiffEntry[];
  /** There is more than is told. */
  truncated: boolean;
}

interface DiffEntry extends Pick<TreeEntry, "type" | "size" | "mode"> {
  /** As people see it. */
  path: string;
  sha256: string | null;
}

/** Outcome of a restore. */
export interface RestoreOutcome {
  removed: number;
  written: number;
  changed: number;
  writtenBytes: number;
}
