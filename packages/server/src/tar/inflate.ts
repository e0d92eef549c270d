import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { AppError, errnoOf } from "../core/errors.ts";
import { archiveLimits } from "../core/limits.ts";

const magic = Buffer.from([0x1f, 0x8b]);

/** The first bytes that come, two at least unless there are no more, and what follows them. */
async function begin(source: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < magic.length) {
    const next = await source.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  return head;
}

export interface GunzipLimits {
  ratio: number;
  bytes: number;
}

/** An archive as it is, or inflated when it is gzip; a bomb ends with an error long before its end. */
export async function* inflate(source: AsyncIterable<Uint8Array>, limits: GunzipLimits): AsyncGenerator<Uint8Array> {
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
  if (!head.subarray(0, magic.length).equals(magic)) return yield* whole(head);

  const gunzip = createGunzip();
  pipeline(Readable.from(whole(head), { objectMode: false }), gunzip, () => undefined); // errors are the reader's
  let output = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      output += chunk.length;
      if (output > archiveLimits.ratioFreeBytes && output > input * limits.ratio)
        throw new AppError(
          "limit_exceeded",
          `the archive is refused: it unpacks to more than ${limits.ratio} times its size`,
        );
      if (output > limits.bytes)
        throw new AppError("limit_exceeded", `the archive is refused: it unpacks to more than ${limits.bytes} bytes`);
      yield chunk;
    }
  } catch (error) {
    if (errnoOf(error)?.startsWith("Z_"))
      throw new AppError("invalid", "the archive is refused: its gzip is damaged or cut short", { cause: error });
    throw error;
  }
}
