import type { EngineName } from "../core/engine.ts";
import { messageOf } from "../core/errors.ts";
import type { Events, Happening } from "../core/event.ts";
import type { Signer } from "../core/manifest.ts";
import type { ObservedResult, ObservedRun, RunEnding, RunLedger } from "../core/run-observer.ts";
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
  /** Of a daemon. */
  ledger?: RunLedger;
  log?: RecordStore;
  records?: RecordOptions;
  signer: () => Promise<Signer>;
}

/** Where no records are kept. */
const nothingKept: RecordOptions = { keep: 0, days: 0, outputBytes: 0 };

/** Turns what happens to one sandbox into events and records. */
export class Chronicle implements SandboxChronicle {
  readonly outputBytes: number;
  readonly #parts: ChronicleParts;

  constructor(parts: ChronicleParts) {
    this.#parts = parts;
    this.outputBytes = parts.records?.outputBytes ?? 0;
  }

  async started(run: ObservedRun): Promise<void> {
    await this.#parts.ledger?.started(run);
    this.#parts.events.emit({ type: "execution.started", sandboxId: run.sandboxId, runId: run.id });
  }

  async ended(run: ObservedRun, ending: RunEnding): Promise<void> {
    const { engine, events, ledger, log, records } = this.#parts;
    const record = toRecord(run, engine, ending, records ?? nothingKept);
    await ledger?.ended({ run, record, result: ending.result });
    for (const happening of endings(run, record, ending.result)) events.emit(happening);
    if (log === undefined || records === undefined) return;
    const stored = log.append(record).catch((error) => {
      events.emit({ type: "record.failed", sandboxId: run.sandboxId, runId: run.id, reason: messageOf(error) });
    });
    if (log.busy) await stored;
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

function exceeded(result: ObservedResult | undefined): ("memory" | "cpu_time")[] {
  return [...(result?.oom_killed ? (["memory"] as const) : []), ...(result?.cpu_limit ? (["cpu_time"] as const) : [])];
}

function endings({ id, sandboxId }: ObservedRun, record: RunRecord, result: ObservedResult | undefined): Happening[] {
  const about = { sandboxId, runId: id };
  const { outcome, ended_by: endedBy, exit_code: exitCode, duration_ms: durationMs, error } = record;
  const over = exceeded(result).map((resource) => ({ type: "resource.exceeded", ...about, resource }) as const);
  const type = `execution.${outcome}` as const;
  switch (type) {
    case "execution.completed":
      return [...over, { type, ...about, exitCode: exitCode ?? 0, durationMs }];
    case "execution.failed":
      return [...over, { type, ...about, exitCode, durationMs, errorCode: error?.code ?? null, endedBy }];
    case "execution.timeout":
      return [...over, { type, ...about, durationMs }];
  }
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
