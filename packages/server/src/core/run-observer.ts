import type { Language } from "./language.ts";
import type { OutputHashes } from "./output-hashes.ts";
import type { RunResult } from "./run.ts";

/** A run as those see it who watch runs. */
export interface ObservedRun {
  id: string;
  sandboxId: string;
  startedAtMs: number;
  /** A command as a shell would take it, or code. */
  command: string;
  language: Language | null;
}

/** What a record and the events tell of a result. */
export type ObservedResult = Omit<
  RunResult,
  "run_id" | "max_rss" | "warm" | "engine" | "enforced" | "not_enforced" | "ended_by" | "refused" | "refused_truncated"
>;

/** How it ended; the output is what the result holds, or the first bytes of what the caller's listener was given. */
export type RunOutcome =
  | { result: ObservedResult; error?: undefined }
  | { result?: undefined; error: unknown; stdout: string; stderr: string };

export interface Recorded {
  /** The result is handed to the caller when this is done. It must not throw. */
  stored: Promise<void> | undefined;
  hashes: OutputHashes;
}

export interface RunObserver {
  /** How many bytes of each output channel it wants to see. */
  readonly outputBytes: number;
  started(run: ObservedRun): void;
  ended(run: ObservedRun, outcome: RunOutcome): Recorded;
}
