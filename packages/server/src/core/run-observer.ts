import type { Language } from "./language.ts";
import type { NetworkRefusals } from "./network-refusal.ts";
import type { RunResult } from "./run.ts";
import type { RunRecord } from "./run-record.ts";

/** A run as those see it who watch runs. */
export interface ObservedRun {
  id: string;
  sandboxId: string;
  startedAtMs: number;
  /** A command as a shell would take it, or code. */
  command: string;
  language: Language | null;
  /** Id of a background process. */
  processId?: string;
}

/** The part of a result that records, events and the audit log are about. */
export type ObservedResult = Omit<
  RunResult,
  | ("run_id" | "outcome" | "ended_by" | "max_rss" | "warm" | "engine" | "enforced" | "not_enforced")
  | keyof NetworkRefusals
>;

/** How it ended; the output is what the result holds, or the first bytes of what the caller's listener was given. */
export type RunEnding =
  | { result: ObservedResult; error?: undefined }
  | { result?: undefined; error: unknown; stdout: string; stderr: string };

/** Watches the runs of a sandbox. The caller hears of a run, or of its end, when these have resolved; where they reject it gets the error. */
export interface RunObserver {
  /** How many bytes of each output channel it wants to see. */
  readonly outputBytes: number;
  started(run: ObservedRun): Promise<void>;
  ended(run: ObservedRun, ending: RunEnding): Promise<void>;
}

/** A run that has ended, with its record. */
export interface EndedRun {
  run: ObservedRun;
  record: RunRecord;
  /** Undefined where there is none; the record says why. */
  result: ObservedResult | undefined;
}

/** Records runs before an event or a result reports them: in the store of a daemon, or as JSON lines. */
export interface RunKeeper {
  started(run: ObservedRun): Promise<void>;
  /** Calls `failed` later when the record alone could not be kept. */
  ended(end: EndedRun, failed: (error: unknown) => void): Promise<void>;
  /** The records of a sandbox, oldest first. */
  list(sandboxId: string): Promise<RunRecord[]>;
  /** Its owner is done with the sandbox; its records stay. */
  release(sandboxId: string): Promise<void>;
}
