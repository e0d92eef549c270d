import type { SandboxRecord } from "./sandbox-record.ts";

/** Whether copies have the memory of the original: where that can be, or else not at all, or never. */
export const memoryChoices = ["auto", "required", "never"] as const;
export type MemoryChoice = (typeof memoryChoices)[number];

export interface ForkRequest {
  count: number;
  memory: MemoryChoice;
}

/** Copies of a sandbox, and what they are copies of. */
export interface Fork {
  records: SandboxRecord[];
  /** Whether what ran in the original runs on in each. */
  memory: boolean;
  /** Why not. */
  why: string | null;
  /** Of the files: they lie on the original's (`overlay`), on a copy of them, or are what a snapshot reads of the workspace. */
  files: "copy" | "overlay" | "snapshot";
}
