import type { Batch } from "./batch.ts";
import type { EgressPolicy } from "./egress.ts";
import type { EngineName } from "./engine.ts";
import type { Caller } from "./principal.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** Memory of a sandbox that an engine saved, and its files as they were at that moment. */
export interface Checkpoint {
  /** The engine's own. */
  id: string;
  memoryBytes: number;
}

export interface LoadOptions {
  /** Refused where programs that it counts on have changed since it was kept. */
  unchanged?: boolean;
  /** False: refused where programs in it may listen. */
  listeners?: boolean;
}

/** One that is kept, as its namespace sees it. */
export interface CheckpointRecord extends Checkpoint {
  namespace: string;
  sandboxId: string;
  name: string;
  engine: EngineName;
  createdAtMs: number;
  createdBy: string;
}

/** With what going on from it needs beside the engine's bytes. */
export interface KeptCheckpoint extends CheckpointRecord {
  /** Name, in the vault, of the key that seals its memory. */
  keyName: string;
  sandbox: SandboxRecord;
  policy: EgressPolicy | null;
  /** The interpreters that ran in it, as JSON. */
  contexts: string;
}

export interface CheckpointQuery {
  namespace: string;
  sandboxId?: string;
  /** Ids after this one, newest first. */
  cursor?: string;
  limit: number;
}

export interface CheckpointRecords {
  insert(kept: KeptCheckpoint, within?: Batch): Promise<void>;
  get(id: string): Promise<KeptCheckpoint | undefined>;
  /** Newest first. */
  list(query: CheckpointQuery): Promise<CheckpointRecord[]>;
  count(namespace: string): Promise<number>;
  /** Names in all namespaces. */
  names(): Promise<Pick<KeptCheckpoint, "id" | "keyName">[]>;
  /** Total size of the checkpoints of all namespaces, and the largest of them. */
  sizes(limit: number): Promise<{ items: number; bytes: number; largest: CheckpointRecord[] }>;
  delete(id: string, within?: Batch): Promise<void>;
}

/** Computers as they were at a moment, to go on from later (LIF-07). A caller sees those of its own namespace. */
export interface FleetCheckpoints {
  /** The sandbox goes on. */
  create(caller: Caller, sandboxId: string, name: string): Promise<CheckpointRecord>;
  /** Newest first. */
  list(caller: Caller, query: Omit<CheckpointQuery, "namespace">): Promise<CheckpointRecord[]>;
  get(caller: Caller, id: string): Promise<CheckpointRecord>;
  /** A new sandbox that goes on from there. */
  restore(caller: Caller, id: string): Promise<SandboxRecord>;
  delete(caller: Caller, id: string): Promise<void>;
}
