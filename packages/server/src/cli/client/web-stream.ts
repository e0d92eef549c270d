import { ReadableStream as NodeStream } from "node:stream/web";

/** A body for fetch. Unlike `Readable.toWeb`, it handles an error response during the upload. */
export function webStream(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return NodeStream.from(pieces) as ReadableStream<Uint8Array>;
}
