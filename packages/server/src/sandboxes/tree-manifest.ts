import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import type { BlobSession, Blobs } from "../core/blob.ts";
import type { TreeEntry } from "../core/tree.ts";
import { snapshotLimits } from "./snapshot-limits.ts";
import { decodeTree, TreeEncoder } from "./tree-codec.ts";

const digestBytes = 32;

/** Whether a part may end after this entry. By its name alone, so that another change elsewhere leaves the part as it is. */
function endsPart(entry: TreeEntry): boolean {
  return crc32(Buffer.from(entry.path, "latin1")) % 2 ** snapshotLimits.partEntriesBits === 0;
}

async function putBytes(session: BlobSession, bytes: Buffer): Promise<Buffer> {
  const digest = createHash("sha256").update(bytes).digest();
  await session.put(digest.toString("hex"), bytes);
  return digest;
}

/** Stores entries, which are in order, as parts and a list of them. Returns the list's digest. */
export async function writeManifest(session: BlobSession, entries: Iterable<TreeEntry>): Promise<string> {
  const parts: Buffer[] = [];
  let encoder = new TreeEncoder();
  const { partEntriesLeast, partEntriesMost, partBytes } = snapshotLimits;
  const flush = async () => {
    if (encoder.count > 0) parts.push(await putBytes(session, encoder.finish()));
    encoder = new TreeEncoder();
    await setImmediate(); // other work goes on between parts
  };
  for (const entry of entries) {
    encoder.add(entry);
    const isFull = encoder.count >= partEntriesMost || encoder.bytes >= partBytes;
    if (isFull || (encoder.count >= partEntriesLeast && endsPart(entry))) await flush();
  }
  await flush();
  return (await putBytes(session, Buffer.concat(parts))).toString("hex");
}

/** Digests of the parts of a manifest. */
async function manifestParts(blobs: Blobs, manifest: string): Promise<string[]> {
  const list = await blobs.read(manifest);
  const parts: string[] = [];
  for (let at = 0; at < list.length; at += digestBytes) parts.push(list.toString("hex", at, at + digestBytes));
  return parts;
}

/** The entries of a manifest, in order. */
export async function* readManifest(blobs: Blobs, manifest: string): AsyncGenerator<TreeEntry> {
  for (const part of await manifestParts(blobs, manifest)) yield* decodeTree(await blobs.read(part));
}

/** Every blob that a manifest needs, itself included. */
export async function markManifest(blobs: Blobs, manifest: string, live: (digest: string) => void): Promise<void> {
  live(manifest);
  for (const part of await manifestParts(blobs, manifest)) {
    live(part);
    for (const entry of decodeTree(await blobs.read(part))) for (const digest of entry.chunks) live(digest);
    await setImmediate();
  }
}
