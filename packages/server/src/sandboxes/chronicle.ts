import { hash } from "node:crypto";
import type { EngineName } from "../core/engine.ts";
import { AppError, messageOf } from "../core/errors.ts";
import type { Events, Happening } from "../core/event.ts";
import type { Signer } from "../core/manifest.ts";
import type { OutputHashes } from "../core/output-hashes.ts";
import type { ObservedResult, ObservedRun, Recorded, RunOutcome } from "../core/run-observer.ts";
import type { RecordOptions, RunRecord } from "../core/run-record.ts";
import { toRecord } from "./run-record.ts";
import type { Sandbox } from "./sandbox.ts";
import type { SandboxChronicle, SandboxEnd } from "./sandbox-parts.ts";

interface EventSink {
  emit(happening: Happening): void;
  of(sandboxId: string): Events;
}

interface RecordStore {
  readonly busy: boolean;
  append(record: RunRecord): Promise<void>;
  list(sandboxId: string): Promise<RunRecord[]>;
  release(sandboxId: string): Promise<void>;
}

export interface ChronicleParts {
  engine: EngineName;
  events: EventSink;
  log?: RecordStore;
  records?: RecordOptions;
  signer: () => Promise<Signer>;
}

/** Turns what happens to one sandbox into events and records. */
export class Chronicle implements SandboxChronicle {
  readonly outputBytes: number;
  readonly #parts: ChronicleParts;

  constructor(parts: ChronicleParts) {
    this.#parts = parts;
    this.outputBytes = parts.records?.outputBytes ?? 0;
  }

  started(run: ObservedRun): void {
    this.#parts.events.emit({ type: "execution.started", sandboxId: run.sandboxId, runId: run.id });
  }

  ended(run: ObservedRun, outcome: RunOutcome): Recorded {
    for (const happening of endings(run, outcome)) this.#parts.events.emit(happening);
    const { log, records } = this.#parts;
    if (log === undefined || records === undefined) return { stored: undefined, hashes: {} };
    const record = toRecord(run, this.#parts.engine, outcome, records);
    const stored = log.append(record).catch((error) => {
      const reason = messageOf(error);
      this.#parts.events.emit({ type: "record.failed", sandboxId: run.sandboxId, runId: run.id, reason });
    });
    return { stored: log.busy ? stored : undefined, hashes: hashOutput(record) };
  }

  events(sandboxId: string): Events {
    return this.#parts.events.of(sandboxId);
  }

  async records(sandboxId: string): Promise<RunRecord[]> {
    return (await this.#parts.log?.list(sandboxId)) ?? [];
  }

  signer(): Promise<Signer> {
    return this.#parts.signer();
  }

  signed(sandboxId: string, files: number): void {
    this.#parts.events.emit({ type: "artifact.signed", sandboxId, files });
  }

  disk(sandboxId: string, news: "standstill" | "room"): void {
    this.#parts.events.emit({ type: news === "standstill" ? "disk.low" : "disk.recovered", sandboxId });
  }

  async left(sandboxId: string, how: SandboxEnd): Promise<void> {
    await this.#parts.log?.release(sandboxId);
    this.#parts.events.emit({ type: how, sandboxId });
  }
}

function hashOutput({ stdout, stderr }: RunRecord): OutputHashes {
  return {
    ...(stdout === "" ? {} : { stdout_sha256: hash("sha256", stdout) }),
    ...(stderr === "" ? {} : { stderr_sha256: hash("sha256", stderr) }),
  };
}

function exceeded(result: ObservedResult): ("memory" | "cpu_time")[] {
  return [...(result.oom_killed ? (["memory"] as const) : []), ...(result.cpu_limit ? (["cpu_time"] as const) : [])];
}

function endings(run: ObservedRun, { result, error }: RunOutcome): Happening[] {
  const about = { sandboxId: run.sandboxId, runId: run.id };
  if (result === undefined) {
    const errorCode = error instanceof AppError ? error.code : "internal";
    const durationMs = Math.max(0, Date.now() - run.startedAtMs);
    return [{ type: "execution.failed", ...about, exitCode: null, durationMs, errorCode }];
  }
  const { exit_code: exitCode, duration_ms: durationMs } = result;
  const over = exceeded(result).map((resource) => ({ type: "resource.exceeded", ...about, resource }) as const);
  if (result.timed_out) return [...over, { type: "execution.timeout", ...about, durationMs }];
  if (exitCode === 0) return [...over, { type: "execution.completed", ...about, exitCode, durationMs }];
  return [...over, { type: "execution.failed", ...about, exitCode, durationMs, errorCode: null }];
}

export type SandboxBeginning = "sandbox.created" | "sandbox.attached" | "sandbox.started";

/** Tells that a sandbox is there for this owner, and when it is lost without anybody having asked for its end. */
export function announce(sandbox: Sandbox, type: SandboxBeginning, events: EventSink): void {
  const { id, engine } = sandbox;
  events.emit({ type, sandboxId: id, engine });
  sandbox.lost.then((reason) => {
    if (!sandbox.ended) events.emit({ type: "sandbox.lost", sandboxId: id, reason });
  });
}
