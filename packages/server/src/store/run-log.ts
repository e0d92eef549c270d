import { constants } from "node:fs";
import { mkdir, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import { recordLimits } from "../core/limits.ts";
import type { RecordOptions, RunRecord } from "../core/run-record.ts";
import { pruneRunLogs } from "./prune-run-logs.ts";

type Retention = Pick<RecordOptions, "keep" | "days">;

/** What is known of the newer of a sandbox's two files. */
interface Tail {
  lines: number;
  bytes: number;
}

const DAY_MS = 86_400_000;

/**
 * Records of runs, as JSON lines: for each sandbox a file that is only appended to, and the one before it. Both are the
 * owner's alone (0600). A line that a crash tore is ended by the next record's leading newline, and passed over.
 */
export class RunLog {
  readonly #folder: string;
  readonly #retention: Retention;
  readonly #tails = new Map<string, Tail>();
  /** Appends happen one after the other. */
  #queue: Promise<void> = Promise.resolve();
  #pending = 0;

  constructor(home: string, retention: Retention) {
    this.#folder = join(home, "runs");
    this.#retention = retention;
  }

  /** Whether so much waits for the disk that whoever adds more should wait too. */
  get busy(): boolean {
    return this.#pending >= recordLimits.pending;
  }

  append(record: RunRecord): Promise<void> {
    this.#pending++;
    const done = this.#queue.then(() => this.#append(record));
    this.#queue = done.catch(() => undefined).finally(() => this.#pending--);
    return done;
  }

  /** The records of a sandbox that retention keeps, oldest first. */
  async list(sandboxId: string): Promise<RunRecord[]> {
    await this.#queue;
    const lines: string[] = [];
    for (const path of [this.#olderPath(sandboxId), this.#path(sandboxId)]) lines.push(...(await readLines(path)));
    const since = Date.now() - this.#retention.days * DAY_MS;
    const records = lines.map(parseRecord).filter((record) => record !== undefined);
    return records.filter((record) => Date.parse(record.started_at) >= since).slice(-this.#retention.keep);
  }

  /** Forgets that a sandbox was written to; its records stay. */
  async release(sandboxId: string): Promise<void> {
    await this.#queue;
    this.#tails.delete(sandboxId);
  }

  /** Resolves when all that was appended is on its way to the disk, or has failed. */
  flush(): Promise<void> {
    return this.#queue;
  }

  async #append(record: RunRecord): Promise<void> {
    const id = record.sandbox_id;
    const line = Buffer.from(`\n${toLine(record)}\n`);
    const tail = this.#tails.get(id) ?? (await this.#open(id));
    this.#tails.set(id, tail);
    const full =
      tail.lines >= Math.ceil(this.#retention.keep / 2) || tail.bytes + line.length > recordLimits.sandboxBytes / 2;
    if (full && tail.lines > 0) {
      await moveOver(this.#path(id), this.#olderPath(id));
      tail.lines = 0;
      tail.bytes = 0;
    }
    await appendTo(this.#path(id), line);
    tail.lines++;
    tail.bytes += line.length;
  }

  async #open(id: string): Promise<Tail> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await pruneRunLogs(this.#folder, this.#retention.days * DAY_MS);
    const bytes = await sizeOf(this.#path(id));
    return { lines: bytes === 0 ? 0 : (await readLines(this.#path(id))).length, bytes };
  }

  #path(id: string): string {
    return join(this.#folder, `${checkId(id)}.jsonl`);
  }

  #olderPath(id: string): string {
    return join(this.#folder, `${checkId(id)}.1.jsonl`);
  }
}

/** An id becomes a file name. */
function checkId(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw new AppError("invalid", "this is not the id of a sandbox");
  return id;
}

/** A record of hostile output can grow sixfold in JSON; past the cap its facts stay and its texts go. */
function toLine(record: RunRecord): string {
  const line = JSON.stringify(record);
  if (Buffer.byteLength(line) + 2 <= recordLimits.lineBytes) return line;
  return JSON.stringify({ ...record, stdout: "", stderr: "", files_changed: [], truncated: true });
}

async function appendTo(path: string, line: Buffer): Promise<void> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  await using file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  const { bytesWritten } = await file.write(line);
  if (bytesWritten < line.length) throw new AppError("unavailable", "the disk took only a part of a run's record");
}

/** Another owner's pruning may have taken it. */
async function moveOver(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return 0;
    throw error;
  }
}

/** Never more than a file may hold, whatever lies there. */
async function readLines(path: string): Promise<string[]> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const size = Math.min((await file.stat()).size, recordLimits.sandboxBytes);
    const buffer = Buffer.alloc(size);
    const { bytesRead } = await file.read(buffer, 0, size, 0);
    return buffer
      .toString("utf8", 0, bytesRead)
      .split("\n")
      .filter((line) => line !== "");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Undefined for a line that was torn. */
function parseRecord(line: string): RunRecord | undefined {
  try {
    const value = JSON.parse(line);
    return typeof value === "object" && value !== null && typeof value.started_at === "string" ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
