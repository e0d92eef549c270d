import { hash } from "node:crypto";
import type { Audit } from "../../core/audit.ts";
import type { CommandKind } from "../../core/command.ts";
import type { EndedRun, ObservedResult, ObservedRun, RunLedger } from "../../core/run-observer.ts";
import type { RunRecord } from "../../core/run-record.ts";
import type { SandboxRecord, SandboxRecords } from "../../core/sandbox-record.ts";
import { entryOf, type Noted } from "./ledger.ts";

export interface RunBookParts {
  audit: Pick<Audit, "record">;
  /** A sandbox without a record is nobody's: its runs are not written down. */
  sandboxes: Pick<SandboxRecords, "get">;
}

/** A command whose run is expected: what the entries about it say beside the run's own facts. */
export interface ExpectedRun extends Pick<Noted, "actor" | "detail"> {
  id: string;
  kind: CommandKind;
  sandbox: SandboxRecord;
  /** The log has what became of it. */
  isWritten: boolean;
}

/** Runs of a daemon in its audit log: when one starts or ends, before anybody is told. */
export class RunBook implements RunLedger {
  readonly #parts: RunBookParts;
  readonly #expected = new Map<string, ExpectedRun>();

  constructor(parts: RunBookParts) {
    this.#parts = parts;
  }

  /** Until it is disposed of, entries about the run name who asked for it. */
  expect(run: ExpectedRun): Disposable {
    this.#expected.set(run.id, run);
    return { [Symbol.dispose]: () => void this.#expected.delete(run.id) };
  }

  async note({ id, sandbox, actor, detail }: ExpectedRun, type: string, more: Noted["detail"]): Promise<void> {
    await this.#parts.audit.record(entryOf(sandbox, { type, actor, runId: id, detail: { ...detail, ...more } }));
  }

  /** A run that streams is in the log already, and any other is not told of before it ends. */
  async started({ id, processId = "" }: ObservedRun): Promise<void> {
    const expected = this.#expected.get(id);
    if (expected?.kind === "process") await this.#write(expected, "process.started", { id: processId });
  }

  /** The end of a process in the background is nobody's request: its start has who asked for it. */
  async ended({ run, record, result }: EndedRun): Promise<void> {
    const type = `execution.${record.outcome}`;
    const detail = describeEnd(record, result);
    const expected = this.#expected.get(run.id);
    if (expected !== undefined && run.processId === undefined) return this.#write(expected, type, detail);
    const sandbox = await this.#parts.sandboxes.get(run.sandboxId);
    if (sandbox === undefined) return;
    await this.#parts.audit.record(entryOf(sandbox, { type, actor: undefined, runId: run.id, detail }));
  }

  async #write(expected: ExpectedRun, type: string, detail: Noted["detail"]): Promise<void> {
    await this.note(expected, type, detail);
    expected.isWritten = true;
  }
}

/** Numbers and hashes: output, paths and messages may hold what the log must not. */
function describeEnd(record: RunRecord, result: ObservedResult | undefined): Noted["detail"] {
  const { exit_code, duration_ms, timed_out, oom_killed, cpu_limit, ended_by, error } = record;
  if (result === undefined) return { error_code: error?.code ?? "internal", duration_ms };
  return {
    ...{ exit_code, duration_ms, timed_out, oom_killed, cpu_limit, ended_by },
    files_changed: result.files_changed.length,
    files_changed_sha256: hash("sha256", JSON.stringify(result.files_changed)),
    ...hashOf("stdout_sha256", record.stdout),
    ...hashOf("stderr_sha256", record.stderr),
  };
}

/** Of the text that the record has, where it has some. */
function hashOf(name: string, text: string): Noted["detail"] {
  return text === "" ? {} : { [name]: hash("sha256", text) };
}
