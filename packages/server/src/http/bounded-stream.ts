import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { tooMuchUnread } from "./unread-responses.ts";

/**
 * A stream whose writer does not wait for its reader, for one that may not read: past the limit it is cut. One piece may be
 * larger, so that a result of any size arrives, unless its client has left too much unread elsewhere.
 */
export function boundedStream(
  body: ReadableStream<Uint8Array>,
  mostBytes: number,
  mayPush: (bytes: number) => boolean = () => true,
): Readable {
  const reader = body.getReader();
  const stream = new Readable({
    read: () => undefined,
    destroy: (error, done) => {
      reader.cancel(error).catch(() => undefined);
      done(error);
    },
  });
  const pump = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (stream.destroyed) return;
      if (done) return void stream.push(null);
      if (stream.readableLength > mostBytes) return void stream.destroy();
      if (!mayPush(value.length)) return void stream.destroy(tooMuchUnread());
      stream.push(value);
    }
  };
  pump().catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  return stream;
}
