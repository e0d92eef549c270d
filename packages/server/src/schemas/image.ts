import { z } from "zod";
import { type ImageRecord, imageSources, imageStates } from "../core/image-record.ts";
import type { CatalogueEntry } from "../core/image-spec.ts";
import { buildLimits } from "../images/limits.ts";
import { ociLimits } from "../registries/limits.ts";
import { exactlyOne } from "./exactly-one.ts";

const name = z.string().min(1).max(256);
export const imageId = z.strictObject({ image: name.describe("id, name or alias of the image") });

const fields = {
  name: z.string(),
  aliases: z.array(z.string()).describe("other names of the image"),
  description: z.string(),
};

export const image = z
  .object({
    id: z.string(),
    ...fields,
    source: z.enum(imageSources),
    digest: z.string().describe("digest of the source of the image"),
    state: z.enum(imageStates),
    step: z.string().nullable().describe("current or failed step of the build"),
    error: z.string().nullable(),
    bytes: z.number().int(),
    env_names: z.array(z.string()).describe("names of its environment variables, without values"),
    workdir: z.string().nullable().describe("default working directory of runs; null: /workspace"),
    user: z.string().nullable().describe("user that the image names; code runs as uid 1000 in every image"),
    entrypoint: z.array(z.string()),
    cmd: z.array(z.string()),
    created_at: z.iso.datetime(),
    created_by: z.string(),
  })
  .meta({ id: "Image" });

export const catalogueEntry = z
  .object({
    ...fields,
    debian: z.array(z.string()),
    pip: z.array(z.string()),
    npm: z.array(z.string()),
    imported: z.boolean(),
    spec: z.string().describe("YAML specification of the image"),
  })
  .meta({ id: "CatalogueEntry" });

export const importBody = exactlyOne(
  z.strictObject({
    catalogue: name.optional().describe("name of an image in the catalogue"),
    spec: z.string().min(1).max(buildLimits.specBytes).optional().describe("YAML specification, in place of catalogue"),
    reference: z
      .string()
      .min(1)
      .max(ociLimits.referenceCharacters)
      .optional()
      .describe("image in a registry, in place of catalogue and spec: debian:12, ghcr.io/owner/name:tag"),
    name: name.optional().describe("name of the image here (default: its reference)"),
    credentials: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe("name of a secret that holds USER:PASSWORD for the registry"),
  }),
  ["catalogue", "spec", "reference"],
)
  .refine(
    ({ reference, name, credentials }) => reference !== undefined || (name ?? credentials) === undefined,
    "name and credentials go with a reference",
  )
  .meta({
    id: "ImportImage",
    dependentRequired: { name: ["reference"], credentials: ["reference"] },
    examples: [{ catalogue: "data-science" }],
  });

export function showImage(record: ImageRecord): z.output<typeof image> {
  const { id, name, description, source, digest, state, step, error, bytes, config } = record;
  return {
    ...{ id, name, aliases: [...record.aliases], description, source, digest, state, step, error, bytes },
    env_names: Object.keys(config.env).sort(),
    workdir: config.workdir,
    user: config.user,
    entrypoint: [...config.entrypoint],
    cmd: [...config.cmd],
    created_at: new Date(record.createdAtMs).toISOString(),
    created_by: record.createdBy,
  };
}

export function showEntry({ spec, text }: CatalogueEntry, imported: boolean): z.output<typeof catalogueEntry> {
  const { name, description } = spec;
  return {
    ...{ name, aliases: [...spec.aliases], description, imported, spec: text },
    debian: [...spec.debian],
    pip: [...spec.pip],
    npm: [...spec.npm],
  };
}
