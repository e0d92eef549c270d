import type { Containment, EngineName, FileChange, NotEnforced } from "./engine.ts";
import type { Language } from "./language.ts";
import type { NetworkRefusals } from "./network-refusal.ts";
import type { Outcome } from "./outcome.ts";
import type { ProcessResult } from "./process-result.ts";
import type { ResourceLimits } from "./resource-limits.ts";
import type { OutputChannel, TerminalSize } from "./wire.ts";

/** Limits of one run, inside those of its sandbox. */
export interface RunLimits {
  /** 0 means none. */
  timeoutMs: number;
  cpuTimeMs: number;
  processes: number;
  /** Maximum size of each of stdout and stderr in the result. */
  outputBytes: number;
  /** For the run's processes together; without it the sandbox's own limit stands alone. */
  memoryBytes?: number;
  /** Cores are a limit of the sandbox: a run may ask for as many or more, and not for fewer. */
  cpus?: number;
}

/** Input, output and cancellation of a run; none of it changes what runs. */
export interface RunIo {
  /**
   * Output as it is produced, with back-pressure: a window's worth comes before the promises must be done. A
   * listener that returns no promise is done with its chunk, which is then written again. With a listener the result
   * holds no output of its own.
   */
  onOutput?: (channel: OutputChannel, chunk: Buffer) => Promise<void> | undefined;
  /** Ends the run's whole process tree. */
  signal?: AbortSignal;
  /** Looks for files_changed. Default: true. */
  trackFiles?: boolean;
  /** Input for a command whose stdin is a stream. */
  input?: AsyncIterable<Uint8Array>;
}

/** A run as users of the library ask for it. */
export interface RunOptions extends Omit<RunIo, "input"> {
  /** The run's id (run-id.ts); drawn unless given. */
  id?: string;
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  limits?: Partial<RunLimits>;
  /**
   * A terminal in place of the three pipes: what the program writes comes as stdout, what `write` sends is typed. The end
   * of `stdin` leaves the terminal open.
   */
  terminal?: TerminalSize;
  /** Names this run may reach, on top of the sandbox's policy. */
  allowedDomains?: readonly string[];
  /** Another name of it. */
  allowed_domains?: readonly string[];
  /** Limits by the names of settings; `limits` win. */
  resource_limits?: ResourceLimits;
}

export interface RunRequest extends RunOptions {
  /** A string is for /bin/bash, or /bin/sh where an image has none; a list is taken as it is. */
  command: string | readonly string[];
}

export interface CodeRequest extends RunOptions {
  language: Language;
  code: string;
}

/** A finished run, as every surface shows it. */
export interface RunResult extends ProcessResult, Outcome, NetworkRefusals {
  run_id: string;
  stdout: string;
  stderr: string;
  truncated: boolean;
  /** True when the code ran in an interpreter that had already started. */
  warm: boolean;
  files_changed: FileChange[];
  files_changed_truncated: boolean;
  engine: EngineName;
  enforced: Containment[];
  not_enforced: NotEnforced[];
}

/** A run under way. */
export interface Run {
  readonly id: string;
  readonly result: Promise<RunResult>;
  /** A signal for the process group of the run. */
  signal(number: number): void;
  kill(): void;
  /** Types into the terminal of a run that has one. Resolves when there is room for more, false once the run has ended. */
  write(chunk: Uint8Array): Promise<boolean>;
  resize(size: TerminalSize): void;
}
