import { Readable } from "node:stream";
import { attachment, sandboxBytes } from "./headers.ts";
import { httpLimits } from "./limits.ts";

interface StoredFile {
  sizeBytes: number;
  bytes: AsyncIterable<Uint8Array>;
}

/** A file that the daemon keeps, in whole: never a document of this origin (S32). */
export function sendFile(path: string, { sizeBytes, bytes }: StoredFile, openStream: () => () => void) {
  const stream = Readable.from(bytes, { objectMode: false, highWaterMark: httpLimits.streamBufferBytes });
  stream.once("close", openStream());
  const named = { "content-disposition": attachment(path.split("/").at(-1) ?? "") };
  return { status: 200, headers: { ...sandboxBytes, ...named, "content-length": sizeBytes }, stream } as const;
}
