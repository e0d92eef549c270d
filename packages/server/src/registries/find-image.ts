import { type Descriptor, readIndex, readManifest } from "./documents.ts";
import type { FoundImage, ImageSource } from "./image-source.ts";
import { ociLimits } from "./limits.ts";
import { indexTypes, layerTypes, manifestTypes } from "./media-types.ts";
import { fits, type Platform, tellPlatform } from "./platform.ts";
import { refuseImage } from "./refuse-image.ts";
import type { StagedFile } from "./staging.ts";

/** What an image is, before its layers are here. */
export interface FoundManifest {
  manifestDigest: string;
  config: Descriptor;
  layers: readonly Descriptor[];
}

/** From an index or a manifest to the manifest of the one image that is for this machine. */
export async function findManifest(
  source: Pick<ImageSource, "document">,
  start: Descriptor,
  platform: Platform,
): Promise<FoundManifest> {
  let at = start;
  for (let depth = 0; indexTypes.includes(at.mediaType); depth++) {
    if (depth === ociLimits.indexDepth)
      throw refuseImage(`its indexes are nested more than ${ociLimits.indexDepth} deep`);
    at = chooseManifest(readIndex(await source.document(at)).manifests, platform);
  }
  if (!manifestTypes.includes(at.mediaType)) throw refuseImage(`${at.mediaType} is no manifest`, "unsupported");
  const { config, layers } = readManifest(await source.document(at));
  for (const { mediaType } of layers)
    if (!layerTypes.includes(mediaType)) throw refuseImage(`${mediaType} is no layer that is read here`, "unsupported");
  const total = layers.reduce((sum, { size }) => sum + size, 0);
  if (total > ociLimits.blobBytes) throw refuseImage(`it is larger than ${ociLimits.blobBytes} bytes`);
  return { manifestDigest: at.digest, config, layers };
}

/** Its parts, a few at a time. Where one fails the others are given up, and nothing is under way when this ends. */
export async function collectImage(
  source: ImageSource,
  found: FoundManifest,
  giveUp: () => void = () => undefined,
): Promise<FoundImage> {
  const { manifestDigest, config } = found;
  const document = await source.document(config);
  const fetched = new Map<string, StagedFile>();
  const left = [...new Map(found.layers.map((layer) => [layer.digest, layer])).values()];
  let failure: { error: unknown } | undefined;
  const fetchSome = async () => {
    for (let layer = left.shift(); layer !== undefined && failure === undefined; layer = left.shift()) {
      try {
        fetched.set(layer.digest, await source.blob(layer));
      } catch (error) {
        failure ??= { error };
        giveUp();
      }
    }
  };
  await Promise.all(Array.from({ length: ociLimits.downloads }, fetchSome));
  if (failure !== undefined) throw failure.error;
  const layers = found.layers.flatMap(({ digest }) => fetched.get(digest) ?? []);
  return { digest: config.digest, manifestDigest, config: document, layers };
}

/** Attestations and the like stand beside images, for a platform that is none. */
export function chooseManifest(manifests: readonly Descriptor[], platform: Platform): Descriptor {
  const images = manifests.filter(({ mediaType }) => [...indexTypes, ...manifestTypes].includes(mediaType));
  const found = images.filter((one) => fits(platform, one.platform));
  const [first] = found.filter((one) => one.platform !== undefined).concat(found);
  if (first !== undefined) return first;
  const there = images.flatMap((one) => (one.platform === undefined ? [] : [tellPlatform(one.platform)]));
  throw refuseImage(
    `it is not for ${tellPlatform(platform)}${there.length > 0 ? ` but for ${there.slice(0, 16).join(", ")}` : ""}`,
    "unsupported",
  );
}
