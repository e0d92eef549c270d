import { z } from "zod";
import {
  type TemplateRecord,
  type TemplateRequest,
  templateName,
  templateStates,
  templateSteps,
  warmUpLanguages,
} from "../core/template.ts";
import { templateLimits } from "../core/template-limits.ts";
import { defined } from "../lib/defined.ts";
import { toMb } from "./amount.ts";
import { policyBody, toPolicy } from "./egress.ts";
import { engineChoice } from "./engine.ts";
import { environment, filePath, limitFields, toLimits } from "./sandbox.ts";

const name = z.string().min(1).max(templateLimits.nameCharacters);
export const templateId = z.strictObject({ template: name.describe("id or name of the template") });

const packages = z.array(z.string().min(1).max(templateLimits.packageCharacters)).max(templateLimits.packages);
const base64Characters = Math.ceil(templateLimits.fileBytes / 3) * 4;
/** A path in the workspace: a template keeps no other folder. */
const path = filePath
  .min(1)
  .regex(/^(?:[^/]|\/workspace\/)/, "a file of a template lies in /workspace")
  .describe("path in the workspace");
const file = z.union([
  z.strictObject({ path, text: z.string().max(templateLimits.fileBytes) }),
  z.strictObject({
    path,
    base64: z
      .string()
      .max(base64Characters)
      .regex(/^[A-Za-z0-9+/]*={0,2}$/),
  }),
]);

const warmUp = z.strictObject({
  language: z.enum(warmUpLanguages),
  code: z.string().min(1).max(templateLimits.warmUpBytes),
});

export const createTemplate = z
  .strictObject({
    name: name.regex(templateName, "a name is of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit"),
    description: z.string().max(templateLimits.descriptionCharacters).optional(),
    image: z.string().min(1).max(256).optional(),
    engine: engineChoice.optional(),
    ...limitFields,
    env: environment.optional(),
    network: policyBody.optional().describe("network rules of its sandboxes, as far as their creator may allow them"),
    snapshot_id: z.string().min(1).max(128).optional().describe("snapshot that fills the workspace"),
    files: z
      .array(file)
      .max(templateLimits.files)
      .optional()
      .describe("files to add; they replace files of the snapshot"),
    pip: packages.optional(),
    npm: packages.optional(),
    warm_up: warmUp.optional().describe("code to run at the end of the build, without secrets and network"),
  })
  .meta({ id: "CreateTemplate" });

export const template = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    state: z.enum(templateStates),
    step: z.enum(templateSteps).nullable().describe("current or failed step of the build"),
    error: z.string().nullable(),
    image: z.string(),
    engine: z.enum(["gvisor", "container"]),
    memory_mb: z.number(),
    cpus: z.number(),
    cpu_shares: z.number(),
    max_processes: z.number(),
    storage_mb: z.number(),
    env_names: z.array(z.string()).describe("names of its environment variables, without values"),
    pip: z.array(z.string()),
    npm: z.array(z.string()),
    warm_up: warmUp.nullable(),
    bytes: z.number().int().describe("bytes of its files, without those of the image"),
    memory: z.boolean().describe("true if its sandboxes start with the memory of the warm-up"),
    why: z.string().nullable().describe("why memory is false"),
    created_at: z.iso.datetime(),
    created_by: z.string(),
  })
  .meta({ id: "Template" });

export function toTemplate(body: z.output<typeof createTemplate>): TemplateRequest {
  const { name, description, image, engine, env, network, snapshot_id: snapshotId, warm_up: warmUp } = body;
  return {
    name,
    ...defined({ description, image, engine, env, snapshotId, warmUp }),
    ...defined({ network: network && toPolicy(network) }),
    limits: toLimits(body),
    packages: defined({ pip: body.pip, npm: body.npm }),
    files: (body.files ?? []).map((given) => ({
      path: given.path,
      data: "text" in given ? Buffer.from(given.text) : Buffer.from(given.base64, "base64"),
    })),
  };
}

export function showTemplate(record: TemplateRecord): z.output<typeof template> {
  const { id, name, description, state, step, error, engine, bytes, memory, why, limits, packages } = record;
  return {
    ...{ id, name, description, state, step, error, image: record.image.name, engine },
    memory_mb: toMb(limits.memoryBytes),
    cpus: limits.cpus,
    cpu_shares: limits.cpuShares,
    max_processes: limits.processes,
    storage_mb: toMb(limits.storageBytes),
    env_names: Object.keys(record.env),
    pip: [...packages.pip],
    npm: [...packages.npm],
    warm_up: record.warmUp,
    ...{ bytes, memory, why },
    created_at: new Date(record.createdAtMs).toISOString(),
    created_by: record.createdBy,
  };
}
