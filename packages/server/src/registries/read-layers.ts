import type { ImageConfig } from "../core/image-record.ts";
import type { TarEntry } from "../tar/tar-reader.ts";
import { type ConfigDocument, readConfig } from "./documents.ts";
import { readImageConfig } from "./image-config.ts";
import type { FoundImage } from "./image-source.ts";
import { LayerReader } from "./layer-entries.ts";
import { ociLimits } from "./limits.ts";
import { mergedTar } from "./merged-tar.ts";
import { MergedTree } from "./merged-tree.ts";
import { Notes } from "./notes.ts";
import { fits, type Platform, tellPlatform } from "./platform.ts";
import { inLayer, refuseImage } from "./refuse-image.ts";
import { quoted } from "./text.ts";

/** An image that was looked through: nothing of it can be refused any more. */
export interface ReadImage {
  digest: string;
  manifestDigest: string | null;
  config: ImageConfig;
  /** What it asked for and did not get. */
  notes: string[];
  /** Of its layers, unpacked. */
  bytes: number;
  /** Its tree as one plain archive; while the staged layers are there. */
  tar: () => AsyncIterable<Uint8Array>;
}

/** Every layer is read to its end, and all of them are merged, before anybody gets a byte. */
export async function readLayers(
  found: FoundImage,
  platform: Platform,
  signal: AbortSignal = new AbortController().signal,
): Promise<ReadImage> {
  const document = readConfig(found.config);
  checkPlatform(document, platform);
  const diffIds = document.rootfs.diff_ids;
  if (diffIds.length !== found.layers.length)
    throw refuseImage(`its configuration knows ${diffIds.length} layers, its manifest ${found.layers.length}`);
  const notes = new Notes();
  const config = readImageConfig(document, notes);
  const tree = new MergedTree();
  const layers = found.layers.map(({ path }, layer) => new LayerReader(path, layer));
  let bytes = 0;
  let entries = 0;
  for (const [layer, reader] of layers.entries()) {
    for await (const { entry, number } of reader.verified(diffIds[layer] ?? "", ociLimits.unpackedBytes - bytes)) {
      signal.throwIfAborted();
      if (++entries > ociLimits.entries) throw refuseImage(`it has more than ${ociLimits.entries} entries`);
      noteEntry(entry, notes);
      try {
        tree.apply(entry, layer, number);
      } catch (error) {
        throw inLayer(error, layer);
      }
    }
    bytes += reader.bytes;
  }
  // As other runtimes do, which make the folder that an image names and does not have.
  if (config.workdir !== null && !tree.openFolder(config.workdir))
    notes.add(`its folder ${quoted(config.workdir)} lies behind a link or a file, and is left as it is`);
  const { digest, manifestDigest } = found;
  return { digest, manifestDigest, config, notes: notes.lines(), bytes, tar: () => mergedTar(tree, layers) };
}

export function checkPlatform(document: ConfigDocument, platform: Platform): void {
  const { os, architecture } = document;
  if (!fits(platform, { os, architecture }))
    throw refuseImage(
      `it is for ${tellPlatform({ os, architecture })}, not for ${tellPlatform(platform)}`,
      "unsupported",
    );
}

function noteEntry({ isSetId, attributes }: TarEntry, notes: Notes): void {
  if (isSetId) notes.count("programs lose set-uid or set-gid");
  for (const name of attributes)
    notes.count(`the attribute ${name.slice(0, 64).replaceAll(/[^\x20-\x7e]/g, "?")} is not kept`);
}
