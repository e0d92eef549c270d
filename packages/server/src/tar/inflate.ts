import { pipeline, Readable, type Transform } from "node:stream";
import { constants, createGunzip, createZstdDecompress } from "node:zlib";
import { AppError, errnoOf } from "../core/errors.ts";
import { archiveLimits } from "./limits.ts";
import { startsZstd, zstdFrames } from "./zstd-frames.ts";

const gzipMagic = Buffer.from([0x1f, 0x8b]);
const headBytes = 4;

/** The first bytes that come, four at least unless there are no more, and what follows them. */
async function begin(source: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < headBytes) {
    const next = await source.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  return head;
}

export interface InflateLimits {
  ratio: number;
  bytes: number;
  /** Of an image: zstd is read too. */
  zstd?: boolean;
}

interface Inflater {
  name: "gzip" | "zstd";
  stream: Transform & { readonly bytesWritten: number };
}

function inflaterFor(head: Buffer, { zstd = false }: InflateLimits): Inflater | undefined {
  if (head.subarray(0, gzipMagic.length).equals(gzipMagic))
    return { name: "gzip", stream: createGunzip({ rejectGarbageAfterEnd: true }) };
  if (!zstd || !startsZstd(head)) return undefined;
  const params = { [constants.ZSTD_d_windowLogMax]: archiveLimits.zstdWindowBits };
  return { name: "zstd", stream: createZstdDecompress({ params }) };
}

/** An archive as it is, or inflated when it is compressed; a bomb ends with an error long before its end. */
export async function* inflate(source: AsyncIterable<Uint8Array>, limits: InflateLimits): AsyncGenerator<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  let input = 0;
  async function* whole(head: Buffer): AsyncGenerator<Uint8Array> {
    try {
      input += head.length;
      if (head.length > 0) yield head;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        input += next.value.length;
        if (next.value.length > 0) yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  const head = await begin(iterator);
  const inflater = inflaterFor(head, limits);
  if (inflater === undefined) {
    for await (const piece of whole(head)) {
      checkBytes(input, limits);
      yield piece;
    }
    return;
  }

  const { name, stream } = inflater;
  const pieces = name === "zstd" ? zstdFrames(whole(head)) : whole(head);
  pipeline(Readable.from(pieces), stream, () => undefined); // errors are the reader's; pieces stay as they are cut
  let output = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      output += chunk.length;
      if (output > archiveLimits.ratioFreeBytes && output > input * limits.ratio)
        throw new AppError("invalid", `the archive is refused: it unpacks to more than ${limits.ratio} times its size`);
      checkBytes(output, limits);
      yield chunk;
    }
  } catch (error) {
    throw explain(error, name);
  }
  if (stream.bytesWritten < input) throw trailing(name);
}

/** Also of what is not compressed: an image may name one layer many times. */
function checkBytes(output: number, { bytes }: InflateLimits): void {
  if (output > bytes) throw new AppError("invalid", `the archive is refused: it unpacks to more than ${bytes} bytes`);
}

function trailing(name: string): AppError {
  return new AppError("invalid", `the archive is refused: data follows the end of its ${name}`);
}

function explain(error: unknown, name: string): unknown {
  const code = errnoOf(error);
  if (code === "ERR_TRAILING_JUNK_AFTER_STREAM_END") return trailing(name);
  if (!code?.startsWith("Z_") && !code?.startsWith("ZSTD_")) return error;
  return new AppError("invalid", `the archive is refused: its ${name} is damaged or cut short`, { cause: error });
}
