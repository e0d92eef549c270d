import type { Tunnels } from "./tunnel.ts";

/** Kinds of streams that a guest can open. The numbers are the wire's. */
export const streamKinds = {
  process: 1,
  read: 2,
  write: 3,
  list: 4,
  stat: 5,
  mkdir: 6,
  move: 7,
  remove: 8,
  pack: 9,
  unpack: 10,
  search: 11,
  restore: 12,
  place: 13,
  listen: 14,
  accept: 15,
  dial: 16,
  datagrams: 17,
  busy: 18,
} as const;
export type StreamKind = keyof typeof streamKinds;

/** Parameters of a stream, for the guest; numbers must be whole and not negative. */
export interface StreamSpec {
  arguments?: readonly string[];
  environment?: Readonly<Record<string, string>>;
  folder?: string;
  timeoutMs?: number;
  cpuMs?: number;
  processes?: number;
  memoryBytes?: number;
  openFiles?: number;
  path?: string;
  target?: string;
  offset?: number;
  length?: number;
  mode?: number;
  count?: number;
  depth?: number;
  fileBytes?: number;
  lineBytes?: number;
  name?: string;
  text?: string;
  stdin?: boolean;
  parents?: boolean;
  recursive?: boolean;
  replace?: boolean;
  /** The arguments are an interpreter's, its inline option and code: one that has started already may run it. */
  warm?: WarmInterpreter;
  ignoreCase?: boolean;
  binary?: boolean;
  exact?: boolean;
  /** Takes away what is placed there. */
  gone?: boolean;
  /** The arguments are a shell's: where a root has no such one, /bin/sh takes them. */
  shell?: boolean;
  /** Sends whole files, for a search by the host. */
  whole?: boolean;
  /** A port inside, and an IPv4 address as a number times 65,536. */
  spot?: number;
  /** Runs the process on a terminal of this size. */
  terminal?: TerminalSize;
}

/** In characters. */
export interface TerminalSize {
  rows: number;
  columns: number;
}

/** Interpreters that can start before their run comes. */
export type WarmInterpreter = "python" | "node";

export type OutputChannel = "stdout" | "stderr";

export interface ExitRecord {
  exitCode: number | null;
  signal: number | null;
  /** The errno of a program that could not be started, or of a file operation that failed. */
  startError: number | null;
  timedOut: boolean;
  cpuLimit: boolean;
  memoryLimit: boolean;
  killed: boolean;
  /** An interpreter that had waited ran it. */
  warm: boolean;
  cpuMs: number;
  maxRssBytes: number;
  durationMs: number;
}

export interface WireStream {
  readonly id: number;
  /** Resolves when the program runs, rejects when it cannot. */
  readonly started: Promise<number>;
  /** Resolves after all output was handed on; rejects when the sandbox is lost. */
  readonly exit: Promise<ExitRecord>;
  /** Resolves when the guest has room for more. False when the process has closed its input. */
  write(chunk: Uint8Array): Promise<boolean>;
  end(): void;
  signal(number: number): void;
  /** Resizes the terminal of a stream. */
  resize(size: TerminalSize): void;
  /** Ends the whole tree; output that was not handed on yet is dropped, so that a listener that takes none cannot hold it up. */
  killTree(): void;
  /** Ends the whole tree; the listener still gets all of its output. */
  endTree(): void;
  /** Output up to here is stored; the guest may send as much again. */
  consumed(channel: OutputChannel, bytes: number): void;
}

/** A stream whose end is held: the guest forgets neither output nor exit before `release`. */
export interface HeldStream extends WireStream {
  /** Everything is stored. */
  release(): void;
}

/** State of a stream that a former owner opened: acknowledged output, and received input. */
export interface StreamState {
  id: number;
  kind: number;
  finished: boolean;
  /** Spot of a listener. */
  spot: number;
  inputReceived: number;
  inputConsumed: number;
  acknowledged: Record<OutputChannel, number>;
}

/** Says who listens to a stream that a former owner opened; undefined ends it. */
export type Adopt = (state: StreamState, stream: HeldStream) => OutputListener | undefined;

/** Called with a piece of a receive buffer, which is written again once the listener has said `consumed` of it. */
export type OutputListener = (channel: OutputChannel, chunk: Buffer) => void;

export interface WireConfiguration {
  /** The host name of this sandbox, where it is to have another than it has. */
  name?: string;
  leaseMs: number;
  memoryBytes: number;
  watchMemory: boolean;
  /** Environment of every run; waiting interpreters are started with it. */
  environment: Readonly<Record<string, string>>;
  /** How long one waits that nobody uses; 0 for as long as the sandbox lives. */
  warmIdleMs: number;
  /** Those to start at once. */
  warm: readonly WarmInterpreter[];
  /** True while the clocks of runs stand still. */
  paused?: boolean;
  /** No interpreter may wait: those that do go. */
  cold?: boolean;
}

export interface Wire {
  open(kind: StreamKind, spec: StreamSpec, listener: OutputListener): WireStream;
  /** As `open`, for what must outlive this owner. */
  openHeld(kind: StreamKind, spec: StreamSpec, listener: OutputListener): HeldStream;
  /** Connections of the sandbox. */
  readonly tunnels: Tunnels;
  configure(configuration: WireConfiguration): void;
  /** When the guest last answered whether it is well, by performance.now(): it is asked every `pingIntervalMs`. */
  readonly answeredMs: number;
  /** Resolves when the guest has answered; fails when it does not in time. */
  ping(timeoutMs: number): Promise<void>;
  /** Expects no answers from now on: the guest is about to stand still. Resolves when it has taken in what was sent. */
  pause(): Promise<void>;
  /** As pause, and nothing more reaches the guest before `resume`. False when it did not answer. */
  still(): Promise<boolean>;
  /** After its guest has ended: resolves when all it wrote was read. */
  drained(): Promise<void>;
  resume(): void;
  /** Resolves with the reason once the wire is no longer usable. */
  readonly lost: Promise<string>;
  close(reason: string): void;
}
