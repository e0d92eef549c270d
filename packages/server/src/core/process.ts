import { AppError } from "./errors.ts";
import type { ProcessResult } from "./process-result.ts";
import type { ResourceLimits } from "./resource-limits.ts";
import type { RunLimits } from "./run.ts";
import type { OutputChannel, TerminalSize } from "./wire.ts";

export interface ProcessRequest {
  /** The run's id (run-id.ts); drawn unless given. */
  runId?: string;
  /** A string is for /bin/bash, or /bin/sh where an image has none; a list is taken as it is. */
  command: string | readonly string[];
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  /** True: its stdin is a pipe that can be written to. Otherwise its stdin is empty. */
  stdin?: boolean;
  /** A terminal in place of pipes: all output comes as stdout, and what is written is typed. */
  terminal?: TerminalSize;
  limits?: Partial<RunLimits>;
  /** Limits by the names of settings; `limits` win. */
  resource_limits?: ResourceLimits;
}

export interface ProcessInfo {
  id: string;
  run_id: string;
  /** Inside the sandbox; null for one that ended before it was asked. */
  pid: number | null;
  /** `lost`: what became of it cannot be known. */
  state: "running" | "exited" | "lost";
  command: readonly string[];
  started_at: string;
  /** Once it has exited. */
  result: ProcessResult | null;
  /** The part of each channel that can be read: older bytes make room for newer ones. */
  output: Record<OutputChannel, { from: number; to: number }>;
}

export interface OutputPiece {
  /** Offset of the first byte: past the requested one where older bytes were removed. */
  offset: number;
  data: Buffer;
}

export interface ReadOptions {
  channel?: OutputChannel;
  offset?: number;
}

/** A run in the background. It outlives the call that started it, and in a kept sandbox its owner too. */
export interface SandboxProcess {
  readonly id: string;
  info(): ProcessInfo;
  /** Reads from an offset on, at most so many bytes; empty at the end of what was written so far. */
  read(offset?: number, options?: { channel?: OutputChannel; maxBytes?: number }): Promise<OutputPiece>;
  /** Everything from an offset on, as it is written, until the process has ended. */
  output(options?: ReadOptions): AsyncIterable<OutputPiece>;
  /** Resolves when there is room for more. False when the process no longer reads. */
  write(chunk: string | Uint8Array): Promise<boolean>;
  closeInput(): Promise<void>;
  /** Resizes its terminal. False when it has ended. */
  resize(size: TerminalSize): boolean;
  /** For its process group. False when it has ended. */
  signal(signal: NodeJS.Signals | number): boolean;
  /** Ends its whole tree. */
  kill(): boolean;
  /** Resolves when it has ended and all of its output is stored. */
  wait(): Promise<ProcessResult>;
}

export interface SandboxProcesses {
  start(request: ProcessRequest): Promise<SandboxProcess>;
  list(): ProcessInfo[];
  get(id: string): SandboxProcess;
}

/** Policy for processes that outlive the call which started them (EXE-13), contexts included. */
export interface BackgroundPolicy {
  allowed: boolean;
  /** The longest that one may run. */
  mostMs: number;
}

export function checkBackground({ allowed }: BackgroundPolicy, what: string): void {
  if (allowed) return;
  throw new AppError("forbidden", `policy lets nobody start ${what}`, { hint: "policy.background allows them" });
}
