import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { emitWarning } from "node:process";
import type { Command } from "../core/command.ts";
import { AppError, errnoOf } from "../core/errors.ts";
import {
  checkBackground,
  type ProcessInfo,
  type ProcessRequest,
  type SandboxProcess,
  type SandboxProcesses,
} from "../core/process.ts";
import type { Redactor } from "../core/redaction.ts";
import { newRunId } from "../core/run-id.ts";
import type { Adopt, StreamSpec } from "../core/wire.ts";
import { ChannelLog } from "./channel-log.ts";
import { limitsOf } from "./command-limits.ts";
import { processLimits } from "./limits.ts";
import { BackgroundProcess, type Logs } from "./process.ts";
import { type ProcessRecord, readProcessRecord, writeProcessRecord } from "./process-record.ts";
import { readProcessRequest } from "./read-process-request.ts";
import { notStarted } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";
import { toSpec } from "./spec.ts";

const isProcessId = (name: string) => /^p[0-9a-f]{12}$/.test(name);

/** The background processes of a sandbox, in a folder each. */
export class Processes implements SandboxProcesses {
  readonly #sandbox: Sandbox;
  readonly #folder: string;
  readonly #known = new Map<string, BackgroundProcess>();
  #starting = 0;
  readonly #attending = new Set<Promise<void>>();

  constructor(sandbox: Sandbox, folder: string) {
    this.#sandbox = sandbox;
    this.#folder = folder;
  }

  list(): ProcessInfo[] {
    return [...this.#known.values()].map((process) => process.info());
  }

  get(id: string): SandboxProcess {
    const process = this.#known.get(id);
    if (process === undefined) throw new AppError("not_found", `unknown process ${JSON.stringify(id).slice(0, 80)}`);
    return process;
  }

  async start(request: ProcessRequest): Promise<SandboxProcess> {
    return this.startCommand(readProcessRequest(request));
  }

  async startCommand(command: Command): Promise<SandboxProcess> {
    checkBackground(this.#sandbox.background, "background processes");
    const { cpuTimeMs } = limitsOf(this.#sandbox, command);
    const spec = toSpec(this.#sandbox, command);
    this.#checkRoom();
    this.#starting++;
    try {
      const process = await this.#start(command.id, spec, cpuTimeMs);
      this.#known.set(process.id, process);
      await this.#evict();
      return process;
    } finally {
      this.#starting--;
    }
  }

  async #start(runId: string, spec: StreamSpec, cpuTimeMs: number): Promise<BackgroundProcess> {
    const id = `p${randomBytes(6).toString("hex")}`;
    const folder = join(this.#folder, id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      return await this.#open({ id, runId, cpuTimeMs }, folder, spec);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** An owner that dies before the record is written leaves a stream that its follower does not know, and ends. */
  async #open(
    about: Pick<ProcessRecord, "id" | "runId" | "cpuTimeMs">,
    folder: string,
    spec: StreamSpec,
  ): Promise<BackgroundProcess> {
    const { redactor } = this.#sandbox;
    const logs = {
      stdout: ChannelLog.create(folder, "stdout", redactor),
      stderr: ChannelLog.create(folder, "stderr", redactor),
    };
    const stream = this.#sandbox.wire.openHeld("process", spec, (channel, chunk) => logs[channel].append(chunk));
    const record: ProcessRecord = {
      ...about,
      stream: stream.id,
      pid: null,
      command: spec.arguments ?? [],
      startedAt: new Date().toISOString(),
      stdin: (spec.stdin ?? false) || spec.terminal !== undefined,
      terminal: spec.terminal !== undefined,
      inputClosed: false,
      result: null,
      lost: null,
    };
    const process = new BackgroundProcess(this.#sandbox, folder, record, logs);
    process.follow(stream, { stdout: 0, stderr: 0 });
    try {
      const pid = await stream.started.catch(async (error: unknown) => {
        const exit = await stream.exit.catch(() => undefined);
        if (exit?.startError == null) throw error;
        throw notStarted(exit.startError, spec);
      });
      await process.confirm(pid > 0 ? pid : null);
    } catch (error) {
      stream.release(); // ends what may have started
      await process.leave();
      throw error;
    }
    this.#attend(process);
    return process;
  }

  /** What former owners left; their streams come by `adopt`. In a copy, what runs on is another run than the original's. */
  async load({ ofCopy = false } = {}): Promise<void> {
    for (const id of await listFolder(this.#folder)) {
      if (!isProcessId(id)) continue;
      const folder = join(this.#folder, id);
      try {
        const record = await readProcessRecord(folder, id);
        if (record === undefined) await rm(folder, { recursive: true, force: true });
        else {
          const runs = record.result === null && record.lost === null;
          if (ofCopy && runs) {
            record.runId = newRunId();
            await writeProcessRecord(folder, record);
          }
          const logs = await loadLogs(folder, this.#sandbox.redactor);
          this.#known.set(id, new BackgroundProcess(this.#sandbox, folder, record, logs));
        }
      } catch (error) {
        // It alone is skipped, and its stream is ended as one that nobody knows.
        emitWarning(error instanceof Error ? error : String(error));
      }
    }
    const inOrder = [...this.#known].sort(([, left], [, right]) => left.startedAt.localeCompare(right.startedAt));
    this.#known.clear();
    for (const [id, process] of inOrder) this.#known.set(id, process);
  }

  readonly adopt: Adopt = (state, stream) => {
    const process = [...this.#known.values()].find(({ streamId }) => streamId === state.id);
    if (process === undefined) return undefined;
    const listener = process.follow(stream, state.acknowledged);
    this.#attend(process);
    return listener;
  };

  /** After all streams of the guest are known. */
  async giveUpMissing(why: string): Promise<void> {
    for (const process of this.#known.values()) if (process.running && !process.attached) await process.giveUp(why);
  }

  /** Those that wait for a wire which will not come. */
  async loseSandbox(reason: string): Promise<void> {
    const error = new AppError("unavailable", `the sandbox is lost: ${reason}`, { details: { sandbox_lost: true } });
    for (const process of this.#known.values()) await process.loseSandbox(error);
  }

  /** Nothing is written any more when this resolves. The wire is closed before. */
  async leave(): Promise<void> {
    await Promise.all(this.#attending);
    for (const process of this.#known.values()) await process.leave();
  }

  #attend(process: BackgroundProcess): void {
    const attending = process.attend().finally(() => this.#attending.delete(attending));
    this.#attending.add(attending);
  }

  #checkRoom(): void {
    const running = [...this.#known.values()].filter((process) => process.running).length;
    if (running + this.#starting >= processLimits.processes)
      throw new AppError(
        "limit_exceeded",
        `too many background processes in the sandbox (limit: ${processLimits.processes})`,
        {
          hint: "end one first: caisson kill SANDBOX PROCESS",
        },
      );
  }

  /** Only once a start has succeeded: one that is refused costs nobody anything. */
  async #evict(): Promise<void> {
    for (const process of [...this.#known.values()]) {
      if (this.#known.size <= processLimits.processes) return;
      if (process.running) continue;
      this.#known.delete(process.id);
      await process.leave();
      await rm(process.folder, { recursive: true, force: true });
    }
  }
}

async function loadLogs(folder: string, redactor: Redactor): Promise<Logs> {
  const [stdout, stderr] = [ChannelLog.load(folder, "stdout", redactor), ChannelLog.load(folder, "stderr", redactor)];
  return { stdout: await stdout, stderr: await stderr };
}

async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
