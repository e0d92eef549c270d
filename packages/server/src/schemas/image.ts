import { z } from "zod";
import { type ImageRecord, imageSources, imageStates } from "../core/image-record.ts";
import type { CatalogueEntry } from "../core/image-spec.ts";
import { buildLimits } from "../images/limits.ts";
import { ociLimits } from "../registries/limits.ts";
import { exactlyOne } from "./exactly-one.ts";

const name = z.string().min(1).max(256);
export const imageId = z.strictObject({ image: name.describe("its id, its name or an alias") });

const fields = {
  name: z.string(),
  aliases: z.array(z.string()).describe("other names it is started by"),
  description: z.string(),
};

export const image = z
  .object({
    id: z.string(),
    ...fields,
    source: z.enum(imageSources),
    digest: z.string().describe("of what it was made from"),
    state: z.enum(imageStates),
    step: z.string().nullable().describe("the one under way, or the one that failed"),
    error: z.string().nullable(),
    bytes: z.number().int(),
    env_names: z.array(z.string()).describe("of its variables; values are not shown"),
    workdir: z.string().nullable().describe("where runs begin that name no folder; null: /workspace"),
    user: z.string().nullable().describe("whom it asks for; code is uid 1000 in every image"),
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
    spec: z.string().describe("the YAML that it is made from"),
  })
  .meta({ id: "CatalogueEntry" });

export const importBody = exactlyOne(
  z.strictObject({
    catalogue: name.optional().describe("a name of the catalogue"),
    spec: z.string().min(1).max(buildLimits.specBytes).optional().describe("YAML of your own, in place of it"),
    reference: z
      .string()
      .min(1)
      .max(ociLimits.referenceCharacters)
      .optional()
      .describe("of a registry, in place of both: debian:12, ghcr.io/owner/name:tag"),
    name: name.optional().describe("what an image of a registry is called here; its reference unless given"),
    credentials: z.string().min(1).max(64).optional().describe("a secret that holds USER:PASSWORD for the registry"),
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
