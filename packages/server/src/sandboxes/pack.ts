import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import type { PackOptions, PackSummary, StreamWithSummary } from "../core/archive.ts";
import { AppError } from "../core/errors.ts";
import type { Redactor } from "../core/redaction.ts";
import type { Wire } from "../core/wire.ts";
import { archiveLimits } from "../tar/limits.ts";
import { workerOutput } from "./worker-output.ts";

const trailerBytes = 40;
/** Ends the trailer: an archive without it is not whole. */
const endMark = Buffer.from("packed\r\n");

function parseTrailer(bytes: Buffer): PackSummary {
  const [entries, skipped, unreadable, changed] = [0, 8, 16, 24].map((at) => Number(bytes.readBigUInt64LE(at)));
  return { entries: entries ?? 0, skipped: skipped ?? 0, unreadable: unreadable ?? 0, changed: changed ?? 0 };
}

/** A folder as an archive: the worker's bytes but the last few, which are its summary. */
class PackedFolder implements StreamWithSummary<Buffer, PackSummary> {
  summary: PackSummary | undefined;
  readonly #wire: Wire;
  readonly #path: string;
  readonly #gzip: boolean;
  readonly #exact: boolean;
  readonly #redactor: Redactor;

  constructor(wire: Wire, path: string, options: PackOptions, redactor: Redactor) {
    this.#redactor = redactor;
    this.#wire = wire;
    this.#path = path;
    this.#gzip = options.gzip ?? false;
    this.#exact = options.exact ?? false;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    if (!this.#gzip) return yield* this.#plain();
    const source = Readable.from(this.#plain(), { objectMode: false });
    const gzip = createGzip({ level: archiveLimits.gzipLevel });
    pipeline(source, gzip, () => undefined); // an error of the source is the reader's
    yield* gzip;
  }

  /** With as many bytes as before. A name that holds a value makes its entry unreadable: no unpacker takes its checksum. */
  async *#plain(): AsyncGenerator<Buffer, void> {
    const clean = this.#redactor.stream("fill");
    for await (const chunk of this.#bytes()) yield* clean.push(chunk);
    yield* clean.end();
  }

  async *#bytes(): AsyncGenerator<Buffer, void> {
    let held: Buffer = Buffer.alloc(0);
    const spec = { path: this.#path, length: archiveLimits.packBytes, exact: this.#exact };
    for await (const chunk of workerOutput(this.#wire, "pack", spec)) {
      const keep = chunk.length >= trailerBytes ? held.length : Math.max(0, held.length + chunk.length - trailerBytes);
      if (keep > 0) yield held.subarray(0, keep);
      const rest = held.subarray(keep);
      const cut = Math.max(0, chunk.length - trailerBytes);
      held = Buffer.concat([rest, chunk.subarray(cut)]); // a copy: the chunk's buffer is written again
      if (cut > 0) yield Buffer.from(chunk.subarray(0, cut));
    }
    if (!held.subarray(-endMark.length).equals(endMark) || held.length !== trailerBytes)
      throw new AppError("unavailable", `${this.#path}: incomplete archive from the sandbox`);
    this.summary = parseTrailer(held);
  }
}

export function packFolder(
  wire: Wire,
  path: string,
  options: PackOptions,
  redactor: Redactor,
): StreamWithSummary<Buffer, PackSummary> {
  return new PackedFolder(wire, path, options, redactor);
}
