import type { NetworkRefusals } from "./network-refusal.ts";
import type { Outcome } from "./outcome.ts";
import type { ResourceLimits } from "./resource-limits.ts";
import type { RunLimits, RunResult } from "./run.ts";

/** Languages whose interpreters can live on between runs. */
export const contextLanguages = ["python", "node"] as const;
export type ContextLanguage = (typeof contextLanguages)[number];

export interface ContextOptions {
  language: ContextLanguage;
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  /** Memory and processes of its interpreter, and of what that starts. Time and output are limits of a run. */
  limits?: Partial<RunLimits>;
  /** Limits by the names of settings; `limits` win. */
  resource_limits?: ResourceLimits;
}

export interface ContextRunOptions {
  /** The run's id (run-id.ts); drawn unless given. */
  id?: string;
  /**
   * Time, CPU time and output of the code. Past its time it is interrupted, and its context ended if it goes on all the same.
   * Memory and processes are limits of the context.
   */
  limits?: Partial<RunLimits>;
  /** Limits by the names of settings; `limits` win. */
  resource_limits?: ResourceLimits;
  /** Standard input of the code; without it reading fails. */
  stdin?: string | Uint8Array;
  /** Output as it is produced, with back-pressure. With a listener the result holds none of that channel. */
  onStdout?: (chunk: Buffer) => Promise<void> | undefined;
  onStderr?: (chunk: Buffer) => Promise<void> | undefined;
  /** Gives its place in the line up; code that runs is interrupted, and its context ended if it goes on all the same. */
  signal?: AbortSignal;
}

/** One value that the code showed. Everything in it is the code's own word: HTML and SVG may hold anything. */
export interface ContextResult {
  /** The last expression's value, or something shown on the way. */
  kind: "value" | "display";
  text: string;
  json?: unknown;
  html?: string;
  /** Base64. */
  png?: string;
  svg?: string;
  /** Something was too large and is cut or left out. */
  truncated: boolean;
}

export interface ContextError {
  name: string;
  message: string;
  traceback: string;
}

/** Why a context is no longer there. */
export interface ContextEnd {
  reason: string;
  exit_code: number | null;
  signal: string | null;
  oom_killed: boolean;
}

export interface ContextRunResult extends Outcome, NetworkRefusals {
  run_id: string;
  stdout: string;
  stderr: string;
  truncated: boolean;
  results: ContextResult[];
  error?: ContextError;
  duration_ms: number;
  timed_out: boolean;
  cpu_limit: boolean;
  /** Set when the context ended during this run. */
  ended?: ContextEnd;
}

/** A run in a context with a result like that of other runs. What it used cannot be told apart from what its interpreter uses. */
export interface StatefulResult
  extends Omit<RunResult, "cpu_ms" | "max_rss">,
    Pick<ContextRunResult, "results" | "error"> {
  /** `kept` when variables of earlier calls were there. */
  state: "new" | "kept";
}

export interface ContextInfo {
  readonly id: string;
  readonly language: ContextLanguage;
  /** It lives and runs nothing. */
  readonly idle: boolean;
  /** Why the interpreter is gone; undefined while it lives. */
  readonly ended: ContextEnd | undefined;
}
