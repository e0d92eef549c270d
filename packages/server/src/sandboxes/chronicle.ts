import type { EngineName } from "../core/engine.ts";
import { messageOf } from "../core/errors.ts";
import type { Events, Happening } from "../core/journal.ts";
import type { Signer } from "../core/manifest.ts";
import type { ObservedResult, ObservedRun, RunEnding, RunKeeper } from "../core/run-observer.ts";
import type { RecordOptions, RunRecord } from "../core/run-record.ts";
import { endOf, exceeded } from "./run-end-event.ts";
import { toRecord } from "./run-record.ts";
import type { Sandbox } from "./sandbox.ts";
import type { SandboxChronicle, SandboxEnd } from "./sandbox-parts.ts";

interface EventSink {
  record(happening: Happening): void;
  of(sandboxId: string): Events;
}

export interface ChronicleParts {
  engine: EngineName;
  events: EventSink;
  keeper: () => Promise<RunKeeper | undefined>;
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
    await (await this.#parts.keeper())?.started(run);
    this.#parts.events.record({ type: "execution.started", sandboxId: run.sandboxId, runId: run.id, data: {} });
  }

  async ended(run: ObservedRun, ending: RunEnding): Promise<void> {
    const { engine, events, keeper, records } = this.#parts;
    const record = toRecord(run, engine, ending, records ?? nothingKept);
    await (await keeper())?.ended({ run, record, result: ending.result }, (error) => {
      const failed = { sandboxId: run.sandboxId, runId: run.id, data: { reason: messageOf(error) } };
      events.record({ type: "record.failed", ...failed });
    });
    for (const happening of endings(run, record, ending.result)) events.record(happening);
  }

  events(sandboxId: string): Events {
    return this.#parts.events.of(sandboxId);
  }

  async records(sandboxId: string): Promise<RunRecord[]> {
    return (await (await this.#parts.keeper())?.list(sandboxId)) ?? [];
  }

  signer(): Promise<Signer> {
    return this.#parts.signer();
  }

  signed(sandboxId: string, files: number): void {
    this.#parts.events.record({ type: "artifact.signed", sandboxId, data: { files } });
  }

  disk(sandboxId: string, news: "standstill" | "room"): void {
    this.#parts.events.record({ type: news === "standstill" ? "disk.low" : "disk.recovered", sandboxId, data: {} });
  }

  async left(sandboxId: string, how: SandboxEnd): Promise<void> {
    await (await this.#parts.keeper())?.release(sandboxId);
    this.#parts.events.record({ type: how, sandboxId, data: {} });
  }
}

function endings({ id, sandboxId }: ObservedRun, record: RunRecord, result: ObservedResult | undefined): Happening[] {
  const about = { sandboxId, runId: id };
  const over = exceeded(result).map((resource): Happening => {
    return { type: "resource.exceeded", ...about, data: { resource } };
  });
  return [...over, { ...about, ...endOf(record, result) }];
}

export type SandboxBeginning = "sandbox.created" | "sandbox.attached" | "sandbox.started";

/** Tells that a sandbox is there for this owner, and when it is lost without anybody having asked for its end. */
export function announce(sandbox: Sandbox, type: SandboxBeginning, events: EventSink): void {
  const { id, engine } = sandbox;
  events.record({ type, sandboxId: id, data: type === "sandbox.started" ? {} : { engine } } as Happening);
  sandbox.lost.then((reason) => {
    if (!sandbox.ended) events.record({ type: "sandbox.lost", sandboxId: id, data: { reason } });
  });
}
