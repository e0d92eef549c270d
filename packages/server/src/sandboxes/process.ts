import { constants } from "node:os";
import { emitWarning } from "node:process";
import { AppError, messageOf } from "../core/errors.ts";
import type { OutputPiece, ProcessInfo, ReadOptions, SandboxProcess } from "../core/process.ts";
import type { ProcessResult } from "../core/process-result.ts";
import { checkTerminal } from "../core/terminal.ts";
import type { ExitRecord, HeldStream, OutputChannel, OutputListener, TerminalSize } from "../core/wire.ts";
import type { ChannelLog } from "./channel-log.ts";
import { CpuGuard } from "./cpu-guard.ts";
import { errorOfErrno } from "./errno.ts";
import { processLimits } from "./limits.ts";
import { observedProcess, tellProcessEnd } from "./observe-process.ts";
import { type ProcessRecord, writeProcessRecord } from "./process-record.ts";
import { toProcessResult } from "./process-result.ts";
import type { Sandbox } from "./sandbox.ts";

export type Logs = Record<OutputChannel, ChannelLog>;

const channels = ["stdout", "stderr"] as const;
const signalsMost = 64;

function signalNumber(signal: NodeJS.Signals | number): number {
  const number = typeof signal === "number" ? signal : constants.signals[signal];
  if (!Number.isInteger(number) || number < 1 || number > signalsMost)
    throw new AppError("invalid", `unknown signal ${JSON.stringify(signal)}`);
  return number;
}

/** One background process: its record and logs in a folder, and while it runs and is attached, its stream. */
export class BackgroundProcess implements SandboxProcess {
  readonly folder: string;
  readonly #sandbox: Sandbox;
  readonly #logs: Logs;
  readonly #done = Promise.withResolvers<ProcessResult>();
  #record: ProcessRecord;
  #saving: Promise<void> = Promise.resolve();
  #stream: HeldStream | undefined;
  #logFailure: unknown;

  constructor(sandbox: Sandbox, folder: string, record: ProcessRecord, logs: Logs) {
    this.#sandbox = sandbox;
    this.folder = folder;
    this.#record = record;
    this.#logs = logs;
    this.#done.promise.catch(() => undefined); // whoever waits gets the error; nobody must
    if (record.result !== null) this.#settle(record.result);
    else if (record.lost !== null) this.#give(this.#lostError(record.lost));
  }

  get id(): string {
    return this.#record.id;
  }

  /** The stream that carries it, while it has not ended. */
  get streamId(): number | undefined {
    return this.running ? this.#record.stream : undefined;
  }

  get running(): boolean {
    return this.#record.result === null && this.#record.lost === null;
  }

  get attached(): boolean {
    return this.#stream !== undefined;
  }

  get startedAt(): string {
    return this.#record.startedAt;
  }

  info(): ProcessInfo {
    const { id, runId, pid, command, startedAt, result, lost } = this.#record;
    const { stdout, stderr } = this.#logs;
    return {
      id,
      run_id: runId,
      pid,
      state: result !== null ? "exited" : lost !== null ? "lost" : "running",
      command,
      started_at: startedAt,
      result,
      output: { stdout: { from: stdout.from, to: stdout.to }, stderr: { from: stderr.from, to: stderr.to } },
    };
  }

  read(offset = 0, options: { channel?: OutputChannel; maxBytes?: number } = {}): Promise<OutputPiece> {
    const { channel = "stdout", maxBytes = processLimits.readBytes } = options;
    return this.#logs[channel].read(checkOffset(offset), Math.max(1, checkOffset(maxBytes)));
  }

  output({ channel = "stdout", offset = 0 }: ReadOptions = {}): AsyncIterable<OutputPiece> {
    return this.#logs[channel].pieces(checkOffset(offset));
  }

  async write(chunk: string | Uint8Array): Promise<boolean> {
    if (!this.#record.stdin)
      throw new AppError("invalid", `process ${this.id} has no stdin`, { hint: "start it with stdin: true" });
    const stream = this.#live();
    if (stream === undefined || this.#record.inputClosed) return false;
    return stream.write(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  }

  /** Written down first: a later owner must not write behind the end. */
  async closeInput(): Promise<void> {
    const stream = this.#live();
    if (stream === undefined || !this.#record.stdin || this.#record.inputClosed) return;
    await this.#save({ inputClosed: true });
    stream.end();
  }

  resize(size: TerminalSize): boolean {
    if (!this.#record.terminal) throw new AppError("invalid", `process ${this.id} has no terminal`);
    const stream = this.#live();
    stream?.resize(checkTerminal(size));
    return stream !== undefined;
  }

  signal(signal: NodeJS.Signals | number): boolean {
    const number = signalNumber(signal);
    const stream = this.#live();
    stream?.signal(number);
    return stream !== undefined;
  }

  kill(): boolean {
    const stream = this.#live();
    stream?.endTree();
    return stream !== undefined;
  }

  wait(): Promise<ProcessResult> {
    return this.#done.promise;
  }

  /** Takes what the stream brings from what was acknowledged on, and its end. */
  follow(stream: HeldStream, acknowledged: Record<OutputChannel, number>): OutputListener {
    this.#stream = stream;
    for (const channel of channels)
      this.#logs[channel].follow(
        acknowledged[channel],
        (bytes) => stream.consumed(channel, bytes),
        (error) => this.#cannotStore(error),
      );
    return (channel, chunk) => this.#logs[channel].append(chunk);
  }

  /** Writes it down: from here on it outlives its owner. */
  async confirm(pid: number | null): Promise<void> {
    await this.#save({ pid });
    await this.#sandbox.observer.started(observedProcess(this.#sandbox.id, this.#record));
  }

  /** Waits for the end, under the guards of a run. */
  async attend(): Promise<void> {
    const stream = this.#stream;
    if (stream === undefined) return;
    await this.#sandbox.beginRun(false);
    using guard = new CpuGuard(this.#sandbox, this.#record.cpuTimeMs, () => stream.endTree());
    try {
      const exit = await stream.exit;
      await this.#end(stream, guard.fired ? { ...exit, cpuLimit: true } : exit);
    } catch (error) {
      await this.#lose(error);
    } finally {
      await this.#sandbox.endRun(false);
    }
  }

  /** Nothing is written any more when this resolves. */
  async leave(): Promise<void> {
    for (const channel of channels) await this.#logs[channel].close();
    await this.#saving;
  }

  /** What a stream that is not there any more leaves unknown. */
  giveUp(why: string): Promise<void> {
    return this.#lose(this.#lostError(why));
  }

  /** The sandbox is gone, for this owner at least. One that has a stream learns it there. */
  async loseSandbox(error: AppError): Promise<void> {
    if (this.running && this.#stream === undefined) await this.#lose(error);
  }

  /** The record is written only when all output is; the guest is told only when the record is. */
  async #end(stream: HeldStream, exit: ExitRecord): Promise<void> {
    for (const channel of channels) await this.#logs[channel].finish();
    if (exit.startError !== null) throw errorOfErrno(exit.startError, `cannot run '${this.#record.command[0]}'`);
    const result = toProcessResult(exit, await this.#sandbox.oomKilled());
    if (this.#logFailure !== undefined) throw this.#logFailure;
    await this.#save({ result });
    stream.release();
    await this.#tellEnd({ result });
    this.#settle(result);
  }

  /** With the whole sandbox it may be only this owner that lost it: the record stays as it is. */
  async #lose(error: unknown): Promise<void> {
    if (this.#sandbox.stopped) return this.#loseTo(this.#lostError("the sandbox was stopped"), false);
    const withSandbox = error instanceof AppError && error.details?.sandbox_lost === true;
    await this.#loseTo(error, withSandbox);
  }

  async #loseTo(error: unknown, withSandbox: boolean): Promise<void> {
    const reason = messageOf(error);
    this.#stream?.release();
    for (const channel of channels) await this.#logs[channel].finish().catch(() => undefined);
    if (!withSandbox) await this.#save({ lost: reason }).catch(() => undefined);
    this.#record = { ...this.#record, lost: reason };
    if (!withSandbox || !this.#sandbox.kept) await this.#tellEnd({ error });
    this.#give(error);
  }

  /** Nobody waits for an answer that could be an error: one that cannot be written down is not told. */
  async #tellEnd(outcome: { result: ProcessResult } | { error: unknown }): Promise<void> {
    const { observer, id } = this.#sandbox;
    const told = tellProcessEnd(observer, observedProcess(id, this.#record), this.#logs, outcome);
    await told.catch((error) => emitWarning(messageOf(error)));
  }

  #cannotStore(cause: unknown): void {
    const why = messageOf(cause);
    this.#logFailure ??= new AppError("unavailable", `the output of process ${this.id} cannot be stored: ${why}`, {
      cause,
    });
    this.#stream?.killTree();
  }

  #live(): HeldStream | undefined {
    this.#sandbox.checkNotPaused();
    return this.running ? this.#stream : undefined;
  }

  #save(change: Partial<ProcessRecord>): Promise<void> {
    const saved = this.#saving.then(async () => {
      const record = { ...this.#record, ...change };
      await writeProcessRecord(this.folder, record);
      this.#record = record;
    });
    this.#saving = saved.catch(() => undefined);
    return saved;
  }

  #settle(result: ProcessResult): void {
    this.#done.resolve(result);
    this.#finishLogs();
  }

  #give(error: unknown): void {
    this.#done.reject(error);
    this.#finishLogs();
  }

  #finishLogs(): void {
    for (const channel of channels) this.#logs[channel].finish().catch(() => undefined); // its bytes are written
  }

  #lostError(why: string): AppError {
    return new AppError("unavailable", `process ${this.#record.id} is lost: ${why}`);
  }
}

function checkOffset(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new AppError("invalid", `invalid offset ${offset}`);
  return offset;
}
