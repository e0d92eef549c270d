import { type FileHandle, open, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import type { OutputPiece } from "../core/process.ts";
import type { Redactor } from "../core/redaction.ts";
import type { OutputChannel } from "../core/wire.ts";
import { CleanOutput } from "../dlp/clean-output.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import { processLimits } from "./limits.ts";

interface Segment {
  /** Offset of its first byte in the channel, and its name. */
  start: number;
  size: number;
}

/**
 * What a process wrote to one channel, in files of a bounded size; the oldest go first. A byte is told to be stored only
 * when it is in a file, and how far the files go is what a later owner trusts: a write that was cut short is neither
 * lost nor doubled.
 */
export class ChannelLog {
  readonly #folder: string;
  readonly #channel: OutputChannel;
  readonly #segments: Segment[];
  readonly #queue = new ChunkQueue();
  readonly #clean: CleanOutput<"log">;
  #file: FileHandle | undefined;
  #end: number;
  /** Bytes that come again, since they were stored and not acknowledged. */
  #again = 0;
  #writing: Promise<void> | undefined;
  #changed = Promise.withResolvers<void>();
  #finished = false;
  #broken = false;
  #stored: (bytes: number) => void = () => {};
  #failed: (error: unknown) => void = () => {};

  private constructor(folder: string, channel: OutputChannel, segments: Segment[], redactor: Pick<Redactor, "stream">) {
    // Filled, not marked: what is stored has the offsets of what came. What is held back comes again to a later owner.
    this.#clean = new CleanOutput({ log: redactor.stream("fill") }, (_, piece) => this.#enqueue(piece));
    this.#folder = folder;
    this.#channel = channel;
    this.#segments = segments;
    const last = segments.at(-1);
    this.#end = last === undefined ? 0 : last.start + last.size;
  }

  static create(folder: string, channel: OutputChannel, redactor: Pick<Redactor, "stream">): ChannelLog {
    return new ChannelLog(folder, channel, [], redactor);
  }

  static async load(folder: string, channel: OutputChannel, redactor: Pick<Redactor, "stream">): Promise<ChannelLog> {
    const segments: Segment[] = [];
    for (const name of await readdir(folder)) {
      const start = /^(stdout|stderr)\.(\d{1,16})$/.exec(name);
      if (start?.[1] !== channel) continue;
      segments.push({ start: Number(start[2]), size: (await stat(join(folder, name))).size });
    }
    segments.sort((left, right) => left.start - right.start);
    return new ChannelLog(folder, channel, segments, redactor);
  }

  get from(): number {
    return this.#segments[0]?.start ?? this.#end;
  }

  get to(): number {
    return this.#end;
  }

  /** Says who is told of stored bytes, and from where on they come: from what was acknowledged. */
  follow(acknowledged: number, stored: (bytes: number) => void, failed: (error: unknown) => void): void {
    this.#stored = stored;
    this.#failed = failed;
    this.#again = Math.max(0, this.#end - acknowledged);
    if (acknowledged > this.#end) this.#end = acknowledged; // only a guest that lies: the gap shows in the offsets
  }

  append(chunk: Buffer): void {
    void this.#clean.push("log", chunk);
  }

  #enqueue(piece: Buffer): undefined {
    if (this.#broken) return;
    this.#queue.push(piece);
    this.#writing ??= this.#drain();
  }

  /** Resolves when nothing waits to be written. */
  async settle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** No more will come. */
  async finish(): Promise<void> {
    void this.#clean.end();
    await this.settle();
    await this.close();
    this.#finished = true;
    this.#wake();
  }

  async close(): Promise<void> {
    this.#clean.close();
    await this.settle();
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async read(offset: number, maxBytes: number): Promise<OutputPiece> {
    for (;;) {
      const segment = this.#segments.find(({ start, size }) => offset < start + size);
      if (segment === undefined) return { offset: Math.max(offset, this.#end), data: Buffer.alloc(0) };
      const at = Math.max(offset, segment.start);
      const size = Math.min(maxBytes, processLimits.readBytes, segment.start + segment.size - at);
      try {
        return { offset: at, data: await readRange(this.#path(segment), at - segment.start, size) };
      } catch (error) {
        // It had to make room just now.
        if (errnoOf(error) !== "ENOENT" || this.#segments.includes(segment)) throw error;
      }
    }
  }

  async *pieces(offset: number): AsyncGenerator<OutputPiece> {
    for (let at = offset; ; ) {
      const changed = this.#changed.promise;
      const finished = this.#finished;
      const piece = await this.read(at, processLimits.readBytes);
      if (piece.data.length > 0) {
        yield piece;
        at = piece.offset + piece.data.length;
      } else if (finished) return;
      else await changed;
    }
  }

  async #drain(): Promise<void> {
    for (let chunk = this.#queue.shift(); chunk !== undefined; chunk = this.#queue.shift()) {
      const again = Math.min(this.#again, chunk.length);
      this.#again -= again;
      try {
        await this.#write(chunk.subarray(again));
      } catch (error) {
        this.#broken = true;
        this.#writing = undefined;
        this.#failed(error);
        return;
      }
      this.#stored(chunk.length);
      this.#wake();
    }
    this.#writing = undefined;
  }

  async #write(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const segment = await this.#segment();
      const room = processLimits.segmentBytes - segment.size;
      this.#file ??= await open(this.#path(segment), "a", 0o600);
      const { bytesWritten } = await this.#file.write(chunk, at, Math.min(room, chunk.length - at));
      segment.size += bytesWritten;
      this.#end += bytesWritten;
      at += bytesWritten;
    }
  }

  /** The one to write to. The oldest makes room before a new one begins. */
  async #segment(): Promise<Segment> {
    const last = this.#segments.at(-1);
    if (last !== undefined && last.size < processLimits.segmentBytes && last.start + last.size === this.#end)
      return last;
    await this.#file?.close();
    this.#file = undefined;
    while (this.#segments.length * processLimits.segmentBytes >= processLimits.logBytes) {
      const oldest = this.#segments.shift();
      if (oldest !== undefined) await unlink(this.#path(oldest));
    }
    const segment = { start: this.#end, size: 0 };
    this.#segments.push(segment);
    return segment;
  }

  #path({ start }: Segment): string {
    return join(this.#folder, `${this.#channel}.${start}`);
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

async function readRange(path: string, at: number, size: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(size);
  const file = await open(path, "r");
  try {
    const { bytesRead } = await file.read(buffer, 0, size, at);
    if (bytesRead === 0) throw new AppError("internal", `${path} is shorter than it was`);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
