import type { Readable } from "node:stream";
import { AppError, messageOf } from "../core/errors.ts";
import { registryLimits } from "./limits.ts";
import { refuseImage } from "./refuse-image.ts";

/** The pieces of an answer; one that says nothing for too long is over. */
export async function* livelyPieces(body: Readable): AsyncGenerator<Buffer> {
  const late = () => body.destroy(new AppError("timeout", "the registry stopped responding"));
  let timer = setTimeout(late, registryLimits.answerMs);
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      yield piece;
      timer = setTimeout(late, registryLimits.answerMs);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("unavailable", `the registry sent an incomplete response: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}

export async function readBounded(body: Readable, mostBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of livelyPieces(body)) {
    bytes += piece.length;
    if (bytes > mostBytes) throw refuseImage(`an answer of the registry is larger than ${mostBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
