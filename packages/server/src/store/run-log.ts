import { constants } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import { recordLimits } from "../core/limits.ts";
import type { EndedRun, RunKeeper } from "../core/run-observer.ts";
import type { RecordOptions, RunRecord } from "../core/run-record.ts";
import { listRunLogs, pruneRunLogs } from "./prune-run-logs.ts";
import { runJson } from "./run-json.ts";

type Retention = Pick<RecordOptions, "keep" | "days">;

/** What is known of a sandbox's file. */
interface Tail {
  lines: number;
  bytes: number;
  oldestMs: number;
}

interface Gathered {
  record: RunRecord;
  written: PromiseWithResolvers<void>;
}

const DAY_MS = 86_400_000;

/**
 * Records of runs, as JSON lines: for each sandbox a file, its owner's alone (0600), that is appended to, and written
 * anew without what retention does not keep when that has become a quarter. A line that a crash tore is ended by the
 * next record's leading newline, and passed over.
 */
export class RunLog implements RunKeeper {
  readonly #folder: string;
  readonly #retention: Retention;
  readonly #tails = new Map<string, Tail>();
  #opened = 0;
  /** Records that go to the disk together, a moment after the first of them came. */
  #gathered: Gathered[] = [];
  #gatheredCharacters = 0;
  #soon: NodeJS.Timeout | undefined;
  /** Appends happen one after the other. */
  #queue: Promise<void> = Promise.resolve();
  #pending = 0;
  #pendingCharacters = 0;

  constructor(home: string, retention: Retention) {
    this.#folder = join(home, "runs");
    this.#retention = retention;
  }

  /** The records of runs that have ended are all that is kept. */
  async started(): Promise<void> {}

  /** On its way to the disk; the run waits for it when much is. */
  async ended({ record }: Pick<EndedRun, "record">, failed: (error: unknown) => void): Promise<void> {
    const stored = this.append(record).catch(failed);
    if (this.#busy) await stored;
  }

  /** Whether so much waits for the disk that a run that adds more should wait too. */
  get #busy(): boolean {
    return this.#pending >= recordLimits.pending || this.#pendingCharacters >= recordLimits.pendingCharacters;
  }

  /** Half of that waits for others still: it goes now, and whoever comes meanwhile need not wait. */
  get #hasMany(): boolean {
    const { pending, pendingCharacters } = recordLimits;
    return this.#gathered.length >= pending / 2 || this.#gatheredCharacters >= pendingCharacters / 2;
  }

  append(record: RunRecord): Promise<void> {
    this.#pending++;
    this.#pendingCharacters += sizeOf(record);
    const written = Promise.withResolvers<void>();
    this.#gathered.push({ record, written });
    this.#gatheredCharacters += sizeOf(record);
    if (this.#hasMany) this.#drain();
    else this.#soon ??= setTimeout(() => this.#drain(), recordLimits.gatherMs);
    return written.promise;
  }

  #drain(): void {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    const bySandbox = Map.groupBy(this.#gathered, ({ record }) => record.sandbox_id);
    this.#gathered = [];
    this.#gatheredCharacters = 0;
    for (const [id, some] of bySandbox) this.#queue = this.#queue.then(() => this.#write(id, some));
  }

  async #write(id: string, some: readonly Gathered[]): Promise<void> {
    try {
      await this.#append(
        id,
        some.map(({ record }) => record),
      );
      for (const { written } of some) written.resolve();
    } catch (error) {
      for (const { written } of some) written.reject(error);
    } finally {
      this.#pending -= some.length;
      for (const { record } of some) this.#pendingCharacters -= sizeOf(record);
    }
  }

  /** The records of a sandbox that retention keeps, oldest first. */
  async list(sandboxId: string): Promise<RunRecord[]> {
    await this.flush();
    return this.#kept((await readLines(this.#path(sandboxId))).map(parseRecord));
  }

  /** The last runs of all sandboxes, oldest first. */
  async recent(count: number): Promise<RunRecord[]> {
    await this.flush();
    const found: RunRecord[] = [];
    // A sandbox that was not written to since the oldest record found has none newer.
    for (const { id, mtimeMs } of await newestFirst(this.#folder)) {
      if (found.length === count && mtimeMs < Date.parse(found[0]?.started_at ?? "")) break;
      found.push(...(await this.list(id)));
      found.sort((left, right) => Date.parse(left.started_at) - Date.parse(right.started_at));
      found.splice(0, found.length - count);
    }
    return found;
  }

  /** Forgets that a sandbox was written to; its records stay. */
  async release(sandboxId: string): Promise<void> {
    await this.flush();
    this.#tails.delete(sandboxId);
  }

  /** Resolves when all that was appended is on its way to the disk, or has failed. */
  flush(): Promise<void> {
    this.#drain();
    return this.#queue;
  }

  async #append(id: string, records: readonly RunRecord[]): Promise<void> {
    const tail = this.#tails.get(id) ?? (await this.#open(id));
    this.#tails.set(id, tail);
    let lines: Buffer[] = [];
    const write = async () => {
      if (lines.length > 0) await writeWhole(this.#path(id), Buffer.concat(lines), constants.O_APPEND);
      lines = [];
    };
    for (const record of records) {
      const line = Buffer.from(`\n${runJson(record)}\n`);
      if (this.#isStale(tail, line.length)) {
        await write();
        Object.assign(tail, await this.#rewrite(id));
      }
      lines.push(line);
      tail.lines++;
      tail.bytes += line.length;
      tail.oldestMs = Math.min(tail.oldestMs, Date.parse(record.started_at));
    }
    await write();
  }

  #kept(records: readonly (RunRecord | undefined)[]): RunRecord[] {
    const since = Date.now() - this.#retention.days * DAY_MS;
    const valid = records.filter((record) => record !== undefined);
    return valid.filter((record) => Date.parse(record.started_at) >= since).slice(-this.#retention.keep);
  }

  /** Whether a quarter more is there than is kept, or some of it is a tenth older. */
  #isStale({ lines, bytes, oldestMs }: Tail, moreBytes: number): boolean {
    const { keep, days } = this.#retention;
    const tooOld = oldestMs < Date.now() - 1.1 * days * DAY_MS;
    return tooOld || lines >= Math.ceil(1.25 * keep) || bytes + moreBytes > recordLimits.sandboxBytes;
  }

  async #rewrite(id: string): Promise<Tail> {
    const kept = this.#kept((await readLines(this.#path(id))).map(parseRecord));
    const lines: string[] = [];
    let bytes = 0;
    for (const record of kept.toReversed()) {
      const line = `${JSON.stringify(record)}\n`;
      bytes += Buffer.byteLength(line);
      if (bytes > recordLimits.sandboxBytes / 2) break;
      lines.unshift(line);
    }
    const text = Buffer.from(lines.join(""));
    const temporary = join(this.#folder, `${id}.new.jsonl`);
    await writeWhole(temporary, text, constants.O_TRUNC);
    await rename(temporary, this.#path(id));
    const oldestMs = Date.parse(kept.at(-lines.length)?.started_at ?? "");
    return {
      lines: lines.length,
      bytes: text.length,
      oldestMs: lines.length === 0 ? Number.POSITIVE_INFINITY : oldestMs,
    };
  }

  async #open(id: string): Promise<Tail> {
    if (this.#opened++ % recordLimits.pruneEvery === 0) {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await pruneRunLogs(this.#folder, this.#retention.days * DAY_MS);
    }
    const lines = await readLines(this.#path(id));
    const times = lines.map((line) => Date.parse(parseRecord(line)?.started_at ?? "")).filter((time) => time > 0);
    const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    return { lines: lines.length, bytes, oldestMs: Math.min(...times) };
  }

  #path(id: string): string {
    return join(this.#folder, `${checkId(id)}.jsonl`);
  }
}

/** Of what can be long. */
function sizeOf({ command, stdout, stderr, files_changed }: RunRecord): number {
  const paths = files_changed.reduce((sum, { path }) => sum + path.length, 0);
  return command.length + stdout.length + stderr.length + paths;
}

async function newestFirst(folder: string): Promise<{ id: string; mtimeMs: number }[]> {
  const files = await listRunLogs(folder);
  const whole = files.filter(({ path }) => !path.endsWith(".new.jsonl"));
  return whole
    .map(({ path, mtimeMs }) => ({ id: basename(path, ".jsonl"), mtimeMs }))
    .sort((left, right) => right.mtimeMs - left.mtimeMs);
}

/** An id becomes a file name. */
function checkId(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw new AppError("invalid", "not the id of a sandbox");
  return id;
}

async function writeWhole(path: string, bytes: Buffer, flag: number): Promise<void> {
  const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  await using file = await open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | flag, 0o600);
  const { bytesWritten } = await file.write(bytes);
  if (bytesWritten < bytes.length) throw new AppError("unavailable", "the disk stored only a part of a run's record");
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
