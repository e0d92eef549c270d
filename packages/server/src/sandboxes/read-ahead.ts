import type { Blobs } from "../core/blob.ts";
import { blobLimits } from "./snapshot-limits.ts";

/** Blobs one after the other, the next few already under way. */
export async function* readAhead(blobs: Blobs, digests: Iterable<string>): AsyncGenerator<Buffer> {
  const wanted = digests[Symbol.iterator]();
  const underWay: Promise<Buffer>[] = [];
  const more = () => {
    const next = wanted.next();
    if (next.done) return;
    const read = blobs.read(next.value);
    read.catch(() => undefined); // told when its turn comes
    underWay.push(read);
  };
  for (let i = 0; i < blobLimits.readAhead; i++) more();
  for (let read = underWay.shift(); read !== undefined; read = underWay.shift()) {
    const bytes = await read;
    more();
    yield bytes;
  }
}
