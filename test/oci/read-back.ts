import { readdir } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { type ArchiveChoice, readImageArchive } from "../../packages/server/src/registries/read-image-archive.ts";
import { type ReadImage, readLayers } from "../../packages/server/src/registries/read-layers.ts";
import { Staging } from "../../packages/server/src/registries/staging.ts";
import { TarReader } from "../../packages/server/src/tar/tar-reader.ts";
import { platform } from "./made-image.ts";

/** What a tree holds: `d` with its mode, `l` with its target, `f` with mode and bytes, `h` with the name it shares. */
export type Listing = Record<string, string>;

export async function listTar(tar: AsyncIterable<Uint8Array>): Promise<Listing> {
  const reader = new TarReader(tar, { depth: 200, image: true });
  const found: Listing = {};
  for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
    const { type, path, target } = entry;
    const mode = entry.mode.toString(8);
    const pieces: Buffer[] = [];
    for (let piece = await reader.read(); piece !== undefined; piece = await reader.read())
      pieces.push(Buffer.from(piece));
    if (path in found) throw new Error(`${path} twice`);
    if (type === "directory") found[path] = `d ${mode}`;
    else if (type === "link") found[path] = `l ${target}`;
    else if (type === "hard-link") found[path] = `h ${target}`;
    else found[path] = `f ${mode} ${Buffer.concat(pieces).toString("latin1")}`;
  }
  return found;
}

export async function* inPieces(bytes: Buffer, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export interface ReadBack extends Omit<ReadImage, "tar"> {
  tree: Listing;
  tar: Buffer;
}

/** Reads an archive as an import does, in a folder in which nothing may be left. */
export async function readBack(parent: string, archive: Buffer, choice?: ArchiveChoice): Promise<ReadBack> {
  await using staging = await Staging.open(parent);
  const found = await readImageArchive(staging, inPieces(archive), platform, choice);
  const { tar, ...image } = await readLayers(found, platform);
  const bytes = await buffer(tar());
  return { ...image, tar: bytes, tree: await listTar(inPieces(bytes)) };
}

export async function leftIn(parent: string): Promise<string[]> {
  return readdir(parent).catch(() => []);
}
