import { createHash } from "node:crypto";
import { arch } from "node:os";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { platformOf } from "../../packages/server/src/registries/platform.ts";
import { type TarMember, tarEnd, tarHeader, tarPadding } from "../../packages/server/src/tar/tar-writer.ts";

export type MadeEntry = Omit<TarMember, "size"> & { text?: string; encoding?: "utf8" | "latin1" };

export const file = (path: string, text = "", mode = 0o644): MadeEntry => ({ type: "file", path, text, mode });
export const folder = (path: string, mode = 0o755): MadeEntry => ({ type: "directory", path, mode });
export const link = (path: string, target: string): MadeEntry => ({ type: "link", path, target, mode: 0o777 });
export const hardLink = (path: string, target: string): MadeEntry => ({ type: "hard-link", path, target, mode: 0o644 });

export const platform = platformOf(arch());

export function makeTar(entries: readonly MadeEntry[]): Buffer {
  const parts = entries.flatMap(({ text = "", encoding = "utf8", ...entry }) => {
    const bytes = Buffer.from(text, encoding);
    return [tarHeader({ ...entry, size: bytes.length }), bytes, tarPadding(bytes.length)];
  });
  return Buffer.concat([...parts, tarEnd]);
}

export const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

export type Compression = "none" | "gzip" | "zstd";
const compress = { none: (bytes: Buffer) => bytes, gzip: (bytes: Buffer) => gzipSync(bytes), zstd: zstdCompressSync };
const suffix = { none: "", gzip: "+gzip", zstd: "+zstd" };

export interface MadeImage {
  /** Tar archives, the lowest first. */
  layers: readonly Buffer[];
  compression?: Compression;
  config?: object;
  /** Fields of its configuration document. */
  document?: object;
  /** Blobs in place of the layers' own, as they lie in the image. */
  blobs?: readonly Buffer[];
}

interface Blob {
  mediaType: string;
  bytes: Buffer;
}

export const descriptorOf = ({ mediaType, bytes }: Blob) => ({
  mediaType,
  digest: sha256(bytes),
  size: bytes.length,
});

const json = (mediaType: string, value: unknown): Blob => ({ mediaType, bytes: Buffer.from(JSON.stringify(value)) });

/** The blobs of an image as OCI has them. */
export function makeImage({ layers, compression = "gzip", config = {}, document = {}, blobs }: MadeImage) {
  const configBlob = json("application/vnd.oci.image.config.v1+json", {
    os: "linux",
    architecture: platform.architecture,
    config,
    rootfs: { type: "layers", diff_ids: layers.map(sha256) },
    ...document,
  });
  const layerBlobs = (blobs ?? layers.map((layer) => compress[compression](layer))).map((bytes) => ({
    mediaType: `application/vnd.oci.image.layer.v1.tar${suffix[compression]}`,
    bytes,
  }));
  const manifest = json("application/vnd.oci.image.manifest.v1+json", {
    schemaVersion: 2,
    config: descriptorOf(configBlob),
    layers: layerBlobs.map(descriptorOf),
  });
  return { config: configBlob, layers: layerBlobs, manifest };
}

export const makeIndex = (manifests: readonly object[]): Blob =>
  json("application/vnd.oci.image.index.v1+json", { schemaVersion: 2, manifests });

const binary = (path: string, bytes: Buffer): Buffer =>
  Buffer.concat([tarHeader({ type: "file", path, mode: 0o644, size: bytes.length }), bytes, tarPadding(bytes.length)]);

/** A layout whose index names these manifests. */
export function layoutArchive(manifests: readonly object[], blobs: readonly Blob[]): Buffer {
  const unique = new Map(blobs.map(({ bytes }) => [sha256(bytes), bytes]));
  const named = [...unique].map(([digest, bytes]) => binary(`blobs/${digest.replace(":", "/")}`, bytes));
  const layout = binary("oci-layout", Buffer.from(JSON.stringify({ imageLayoutVersion: "1.0.0" })));
  return Buffer.concat([layout, binary("index.json", makeIndex(manifests).bytes), ...named, tarEnd]);
}

/** The same image as a layout. */
export function imageLayout(made: MadeImage): Buffer {
  const { config, layers, manifest } = makeImage(made);
  return layoutArchive([descriptorOf(manifest)], [config, manifest, ...layers]);
}

/** The same image as `docker save` writes it: layers are plain. */
export function dockerArchive(made: MadeImage, tag = "made:latest"): Buffer {
  const { config } = makeImage(made);
  const id = sha256(config.bytes).slice("sha256:".length);
  const names = made.layers.map((_, at) => `${at}/layer.tar`);
  const manifest = [{ Config: `${id}.json`, RepoTags: [tag], Layers: names }];
  return Buffer.concat([
    binary(`${id}.json`, config.bytes),
    ...made.layers.map((layer, at) => binary(names[at] ?? "", layer)),
    binary("manifest.json", Buffer.from(JSON.stringify(manifest))),
    tarEnd,
  ]);
}
