import type { EngineName } from "./engine.ts";
import type { ErrorCode } from "./errors.ts";
import type { RunEnd } from "./run-end.ts";

interface EgressNews {
  attemptId: string;
  host: string;
  port: number;
  /** That was dialled. */
  address: string | null;
  rule: string | null;
  reason: string | null;
}

interface SandboxEvents {
  "sandbox.created": { engine: EngineName };
  /** A kept one has this owner now. */
  "sandbox.attached": { engine: EngineName };
  /** A kept one is left to its next owner. */
  "sandbox.detached": Record<never, never>;
  /** A kept one has ended with all that ran in it; its workspace stays. */
  "sandbox.stopped": Record<never, never>;
  /** One that was stopped, or had ended, runs again. */
  "sandbox.started": { engine: EngineName };
  "sandbox.destroyed": Record<never, never>;
  /** Its end was not asked for. */
  "sandbox.lost": { reason: string };
  "execution.started": { runId: string };
  /** Ended with exit code 0. */
  "execution.completed": { runId: string; exitCode: number; durationMs: number };
  /** Ended otherwise; without an exit code it has no result at all. */
  "execution.failed": {
    runId: string;
    exitCode: number | null;
    durationMs: number;
    errorCode: ErrorCode | null;
    /** The limit that ended it. */
    endedBy: RunEnd | null;
  };
  "execution.timeout": { runId: string; durationMs: number };
  "resource.exceeded": { runId: string; resource: "memory" | "cpu_time" };
  /** Output holds the first half of a value again and again, without the rest. */
  "secret.probing": Record<never, never>;
  /** A host has sent back a value that was put into a request: the sandbox has it now. */
  "secret.echoed": { secret: string; host: string };
  /** The host's disk is nearly full: the sandbox stands still, and its limits' clocks with it. */
  "disk.low": Record<never, never>;
  /** There is room again: it goes on. */
  "disk.recovered": Record<never, never>;
  "artifact.signed": { files: number };
  /** Of an owner without a daemon, which keeps its own log. Port 0: a name that was looked up. */
  "egress.allowed": EgressNews;
  "egress.denied": EgressNews;
  "egress.failed": EgressNews;
  /** One that was allowed; with a reason it was cut. */
  "egress.ended": { attemptId: string; bytesUp: number; bytesDown: number; durationMs: number; reason: string | null };
  /** The run has its result, but no record of it could be kept. */
  "record.failed": { runId: string; reason: string };
}

/** `atMs` is the owner's clock. */
export type SandboxEvent = {
  [T in keyof SandboxEvents]: { type: T; sandboxId: string; atMs: number } & SandboxEvents[T];
}[keyof SandboxEvents];

/** Told to one slow reader of a stream: so many events are not in it. */
export interface LagEvent {
  type: "events.lag";
  dropped: number;
  atMs: number;
}

/** What has happened, to be told; the clock is added by whoever tells it. */
export type Happening = SandboxEvent extends infer E ? (E extends SandboxEvent ? Omit<E, "atMs"> : never) : never;

export interface EventFilter {
  sandboxId?: string;
  /** Namespace given to the library's `createSandbox`. Default: `default`. */
  namespace?: string;
  types?: readonly SandboxEvent["type"][];
}

export type EventListener = (event: SandboxEvent) => unknown;

export type EventStream = AsyncIterableIterator<SandboxEvent | LagEvent> & Disposable;

export interface Events {
  /** Calls the listener in the order of events, before whatever caused them goes on. Returns what ends the subscription. */
  subscribe(listener: EventListener, filter?: EventFilter): () => void;
  /** Events from now on, until the reader stops or their source closes. A slow reader loses the oldest, and is told how many. */
  stream(filter?: EventFilter): EventStream;
}
