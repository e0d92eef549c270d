import { z } from "zod";
import { jsonLimits } from "../core/json-limits.ts";
import { parseJson } from "../core/parse-json.ts";
import { ociLimits } from "./limits.ts";
import { indexTypes, manifestTypes } from "./media-types.ts";
import { refuseImage } from "./refuse-image.ts";

const text = z.string().max(4_096);
const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, "not a sha256 digest");

const platform = z.object({ os: text, architecture: text, variant: text.optional() });

const descriptor = z.object({
  mediaType: text,
  digest,
  size: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  platform: platform.optional(),
  annotations: z.record(text, text).optional(),
});
/** Names bytes by what they are. */
export type Descriptor = z.output<typeof descriptor>;

/** What can be read as an index and as a manifest is two images under one digest. */
const absent = z.undefined("it is an index and a manifest at once").optional();
const index = z.object({
  mediaType: z.enum(indexTypes).optional(),
  manifests: z.array(descriptor).max(ociLimits.manifests),
  ...{ config: absent, layers: absent, fsLayers: absent },
});
const manifest = z.object({
  mediaType: z.enum(manifestTypes).optional(),
  config: descriptor,
  layers: z.array(descriptor).max(ociLimits.layers),
  ...{ manifests: absent, fsLayers: absent },
});
const layout = z.object({ imageLayoutVersion: z.literal("1.0.0") });
const dockerManifest = z
  .array(z.object({ Config: text, RepoTags: z.array(text).nullish(), Layers: z.array(text).max(ociLimits.layers) }))
  .max(ociLimits.manifests);

const words = z.array(z.string()).nullish();
const config = z.object({
  os: text,
  architecture: text,
  config: z
    .object({
      Env: words,
      User: z.string().nullish(),
      WorkingDir: z.string().nullish(),
      Entrypoint: words,
      Cmd: words,
    })
    .nullish(),
  rootfs: z.object({ type: z.literal("layers"), diff_ids: z.array(digest).max(ociLimits.layers) }),
});
export type ConfigDocument = z.output<typeof config>;

export const readIndex = reader("index", index);
export const readManifest = reader("manifest", manifest);
export const readConfig = reader("configuration", config);
export const readLayout = reader("oci-layout", layout);
export const readDockerManifest = reader("manifest.json", dockerManifest);

function reader<S extends z.ZodType>(what: string, schema: S): (bytes: Buffer) => z.output<S> {
  return (bytes) => {
    const read = schema.safeParse(parse(what, bytes));
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    throw refuseImage(`its ${what} is wrong at ${issue?.path.join(".") || "its top"}: ${issue?.message}`);
  };
}

function parse(what: string, bytes: Buffer): unknown {
  if (bytes.length > ociLimits.documentBytes)
    throw refuseImage(`its ${what} is larger than ${ociLimits.documentBytes} bytes`);
  try {
    return parseJson(bytes, jsonLimits.data);
  } catch {
    throw refuseImage(`its ${what} is no JSON`);
  }
}
