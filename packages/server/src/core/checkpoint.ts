import type { EngineName } from "./engine.ts";
import type { Caller } from "./principal.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** What an engine saved of a sandbox: its memory, and its files as they were at that moment. */
export interface Checkpoint {
  /** The engine's own. */
  id: string;
  memoryBytes: number;
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

/** Computers as they were at a moment, to go on from later (LIF-07). A caller sees those of its own namespace. */
export interface FleetCheckpoints {
  /** The sandbox goes on. */
  create(caller: Caller, sandboxId: string, name: string): Promise<CheckpointRecord>;
  /** Newest first. */
  list(caller: Caller): Promise<CheckpointRecord[]>;
  get(caller: Caller, id: string): Promise<CheckpointRecord>;
  /** A new sandbox that goes on from there. */
  restore(caller: Caller, id: string): Promise<SandboxRecord>;
  delete(caller: Caller, id: string): Promise<void>;
}
