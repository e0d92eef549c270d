import type { CommandKind } from "../../core/command.ts";
import type { Happening, News, Recorder } from "../../core/journal.ts";
import type { EndedRun, ObservedRun, RunLedger } from "../../core/run-observer.ts";
import type { SandboxRecord, SandboxRecords } from "../../core/sandbox-record.ts";
import { endOf, exceeded } from "../run-end-event.ts";
import { type Actor, about } from "./book.ts";

export interface RunBookParts {
  journal: Recorder;
  /** A sandbox without a record is nobody's: its runs are not recorded. */
  sandboxes: Pick<SandboxRecords, "get">;
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

/** Runs of a daemon in its journal: when one starts or ends, before anybody hears of it. */
export class RunBook implements RunLedger {
  readonly #parts: RunBookParts;
  readonly #expected = new Map<string, ExpectedRun>();

  constructor(parts: RunBookParts) {
    this.#parts = parts;
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
  async started({ id, processId = "" }: ObservedRun): Promise<void> {
    const { journal } = this.#parts;
    const run = this.#expected.get(id);
    if (run === undefined || run.streams) return;
    const { detail } = run;
    if (run.kind === "process") {
      await journal.record({ type: "process.started", data: { ...detail, id: processId }, ...whose(run) });
      run.isWritten = true;
    }
    journal.tell({ type: "execution.started", data: detail, ...whose(run) });
  }

  /** The end of a process in the background is nobody's request: its start has who asked for it. */
  async ended({ run: { id, sandboxId, processId }, record, result }: EndedRun): Promise<void> {
    const expected = processId === undefined ? this.#expected.get(id) : undefined;
    const sandbox = expected?.sandbox ?? (await this.#parts.sandboxes.get(sandboxId));
    if (sandbox === undefined) return;
    const who = { ...about(sandbox, expected?.actor), runId: id };
    const over = exceeded(result).map((resource): News => ({ type: "resource.exceeded", ...who, data: { resource } }));
    const { data, ...end } = endOf(record, result);
    await this.#parts.journal.recordAll([...over, { ...end, ...who, data: { ...expected?.detail, ...data } } as News]);
    if (expected !== undefined) expected.isWritten = true;
  }
}

const whose = ({ id, sandbox, actor }: ExpectedRun) => ({ ...about(sandbox, actor), runId: id });
