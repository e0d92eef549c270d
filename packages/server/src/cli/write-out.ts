import type { Writable } from "node:stream";

/** Resolves when the text is written, so that a slow reader costs no memory; false when the stream is closed. */
export function writeOut(stream: Writable, piece: string | Uint8Array): Promise<boolean> {
  return new Promise((resolve) => stream.write(piece, (error) => resolve(!(error instanceof Error))));
}
