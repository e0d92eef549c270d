import { ReadableStream as NodeStream } from "node:stream/web";

/** For fetch. Unlike `Readable.toWeb` it bears that a daemon refuses while there is more to send. */
export function webStream(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return NodeStream.from(pieces) as ReadableStream<Uint8Array>;
}
