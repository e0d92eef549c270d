import type { CommandKind } from "../../core/command.ts";
import type { Happening, News, Recorder } from "../../core/journal.ts";
import { recordLimits } from "../../core/limits.ts";
import type { EndedRun, ObservedRun, RunKeeper } from "../../core/run-observer.ts";
import type { RecordOptions, RunBounds, RunRecord, RunRecords } from "../../core/run-record.ts";
import type { SandboxRecord, SandboxRecords } from "../../core/sandbox-record.ts";
import type { Clock } from "../../lib/clock.ts";
import { storeLimits } from "../../store/limits.ts";
import { endOf, exceeded } from "../run-end-event.ts";
import { type Actor, about } from "./book.ts";
import { RunPruning } from "./run-pruning.ts";

export interface RunBookParts {
  journal: Recorder;
  records: RunRecords;
  /** A sandbox without a record is nobody's: its runs are not recorded. */
  sandboxes: Pick<SandboxRecords, "get">;
  /** Undefined: no records are kept. */
  retention: (Pick<RecordOptions, "keep" | "days"> & Partial<RunBounds>) | undefined;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** A command whose run is expected: what its events say beside the run's own facts. */
export interface ExpectedRun {
  id: string;
  kind: CommandKind;
  streams: boolean;
  sandbox: SandboxRecord;
  actor: Actor;
  /** The command that was judged. */
  detail: Happening<"execution.started">["data"];
  /** The journal has what became of it. */
  isWritten: boolean;
}

export type RunEvent = Happening<
  | "execution.started"
  | "execution.denied"
  | "execution.completed"
  | "execution.failed"
  | "execution.timeout"
  | "process.started"
  | "context.created"
>;

/** Runs of a daemon, in its journal and with their records: when one starts or ends, before anybody hears of it. */
export class RunBook implements RunKeeper, AsyncDisposable {
  readonly #parts: RunBookParts;
  readonly #expected = new Map<string, ExpectedRun>();
  readonly #pruning: RunPruning | undefined;

  constructor(parts: RunBookParts) {
    this.#parts = parts;
    const { records, retention, clock, onError } = parts;
    if (retention === undefined) return;
    const { days, ...kept } = retention;
    const { sandboxBytes, namespaceRecords, namespaceBytes } = recordLimits;
    const bounds = { sandboxBytes, namespaceRecords, namespaceBytes, ...kept };
    this.#pruning = new RunPruning({ records, bounds, days, clock, onError });
  }

  /** Until it is disposed of, events of the run name its caller. */
  expect(run: ExpectedRun): Disposable {
    this.#expected.set(run.id, run);
    return { [Symbol.dispose]: () => void this.#expected.delete(run.id) };
  }

  note(run: ExpectedRun, happening: RunEvent): Promise<void> {
    return this.#parts.journal.record({ ...happening, ...whose(run) });
  }

  /** The start of a run that streams is recorded already. Any other answers at its end, which is recorded. */
  async started({ id, processId = "", startedAtMs }: ObservedRun): Promise<void> {
    const { journal } = this.#parts;
    const run = this.#expected.get(id);
    if (run === undefined || run.streams) return;
    const { detail } = run;
    if (run.kind === "process") {
      const data = { ...detail, id: processId, started_at: new Date(startedAtMs).toISOString() };
      await journal.record({ type: "process.started", data, ...whose(run) });
      run.isWritten = true;
    }
    journal.tell({ type: "execution.started", data: detail, ...whose(run) });
  }

  /** Events and record are one transaction. The end of a process in the background is nobody's request: its start has its caller. */
  async ended({ run: { id, sandboxId, processId }, record, result }: EndedRun): Promise<void> {
    const expected = processId === undefined ? this.#expected.get(id) : undefined;
    const sandbox = expected?.sandbox ?? (await this.#parts.sandboxes.get(sandboxId));
    if (sandbox === undefined) return;
    const who = { ...about(sandbox, expected?.actor), runId: id };
    const over = exceeded(result).map((resource): News => ({ type: "resource.exceeded", ...who, data: { resource } }));
    const { data, ...end } = endOf(record, result);
    const news = [...over, { ...end, ...who, data: { ...expected?.detail, ...data } } as News];
    const { journal, records } = this.#parts;
    const pruning = this.#pruning;
    let bytes = 0;
    await journal.recordAll(news, async (batch) => {
      if (pruning !== undefined) bytes = await records.insert(sandbox.namespace, record, batch);
    });
    if (expected !== undefined) expected.isWritten = true;
    pruning?.added(sandbox.namespace, sandboxId, bytes);
  }

  async list(sandboxId: string): Promise<RunRecord[]> {
    return (await this.#parts.records.list({ sandboxId, limit: storeLimits.listed.max })).reverse();
  }

  async release(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pruning?.[Symbol.asyncDispose]();
  }
}

const whose = ({ id, sandbox, actor }: ExpectedRun) => ({ ...about(sandbox, actor), runId: id });
