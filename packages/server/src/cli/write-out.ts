import type { Writable } from "node:stream";

/** Resolves when it was taken, so that a slow reader costs no memory; false when nobody reads any more. */
export function writeOut(stream: Writable, piece: string | Uint8Array): Promise<boolean> {
  return new Promise((resolve) => stream.write(piece, (error) => resolve(!(error instanceof Error))));
}
