import { AppError } from "../core/errors.ts";
import type { StreamKind, StreamSpec, Wire, WireStream } from "../core/wire.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import { errorOfErrno } from "./errno.ts";

/** Waits for the end of a file worker; whatever it ended with but success is an error. */
export async function settle(stream: WireStream, what: string): Promise<void> {
  const exit = await stream.exit;
  if (exit.startError !== null) throw errorOfErrno(exit.startError, what);
  if (exit.exitCode !== 0) throw new AppError("unavailable", `${what}: the file worker was killed`);
}

/** What a file worker writes, piece by piece; the worker waits while nobody takes one, and ends when nobody wants more. */
export async function* workerOutput(wire: Wire, kind: StreamKind, spec: StreamSpec): AsyncGenerator<Buffer, void> {
  const waiting = new ChunkQueue();
  let wake = Promise.withResolvers<void>();
  let ended = false;
  const stream = wire.open(kind, spec, (_channel, chunk) => {
    waiting.push(chunk);
    wake.resolve();
  });
  stream.end();
  const settled = settle(stream, spec.path ?? "").finally(() => {
    ended = true;
    wake.resolve();
  });
  settled.catch(() => undefined);
  try {
    for (;;) {
      const chunk = waiting.shift();
      if (chunk !== undefined) {
        yield chunk;
        stream.consumed("stdout", chunk.length);
      } else if (ended) {
        break;
      } else {
        await wake.promise;
        wake = Promise.withResolvers<void>();
      }
    }
    await settled;
  } finally {
    if (!ended) {
      stream.killTree();
      await settled.catch(() => undefined);
    }
  }
}
