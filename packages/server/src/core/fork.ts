import type { SandboxRecord } from "./sandbox-record.ts";

/** Choices for the original's memory in copies: where possible, or fail without it, or never. */
export const memoryChoices = ["auto", "required", "never"] as const;
export type MemoryChoice = (typeof memoryChoices)[number];

export interface ForkRequest {
  count: number;
  memory: MemoryChoice;
}

/** Copies of a sandbox, and what they are copies of. */
export interface Fork {
  records: SandboxRecord[];
  /** True when the original's processes continue in each copy. */
  memory: boolean;
  /** Why not. */
  why: string | null;
  /** Origin of the files: on top of the original's (`overlay`), a copy of them, or a snapshot of the workspace. */
  files: "copy" | "overlay" | "snapshot";
}
