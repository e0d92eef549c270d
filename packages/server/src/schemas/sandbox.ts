import { z } from "zod";
import { type SandboxLimits, warmChoices } from "../core/engine.ts";
import type { CreateRequest, SandboxChanges } from "../core/fleet.ts";
import { folderId } from "../core/folder.ts";
import { sandboxStates } from "../core/lifecycle.ts";
import { requestLimits, sandboxLimits } from "../core/limits.ts";
import { either } from "../core/resource-limits.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import { httpLimits } from "../http/limits.ts";
import { defined } from "../lib/defined.ts";
import { lifetimeLimits } from "../sandboxes/fleet/lifetime-limits.ts";
import { fleetLimits, queueLimits } from "../sandboxes/fleet/limits.ts";
import { keptArtifactLimits } from "../sandboxes/snapshot-limits.ts";
import { count, megabytes, seconds, toBytes, toMb, toMs, within } from "./amount.ts";
import { policyBody, toPolicy } from "./egress.ts";
import { engineChoice } from "./engine.ts";

const name = z.string().min(1).max(httpLimits.nameChars);

/** Text that a program can be given: C ends a string at its first NUL. */
export const plainText = z.string().regex(/^[^\u0000]*$/, "it holds a NUL");

export const sandboxId = z.strictObject({ id: z.string().min(1).max(64).describe("id of the sandbox") });

/** A path in the sandbox, which decides what it may reach. */
export const filePath = plainText.max(sandboxLimits.pathBytes);

export const sessionKey = z.string().min(1).max(fleetLimits.sessionKeyChars);

export const priority = z.number().int().min(queueLimits.priority.min).max(queueLimits.priority.max);

export const environment = z
  .record(name.regex(/^[^=\u0000]+$/, "no name of a variable"), plainText.max(httpLimits.valueChars))
  .refine(
    (record) => Object.keys(record).length <= sandboxLimits.variables,
    `an environment has at most ${sandboxLimits.variables} variables`,
  )
  .meta({ maxProperties: sandboxLimits.variables })
  .describe("environment variables");

const labels = z
  .record(name, z.string().max(1024))
  .refine((record) => Object.keys(record).length <= fleetLimits.labels, `at most ${fleetLimits.labels} labels`)
  .meta({ maxProperties: fleetLimits.labels })
  .describe("labels: names and values of your choice");

const description = z
  .string()
  .max(fleetLimits.descriptionChars)
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, "it holds a control character")
  .describe("what the sandbox is for, in one line");

const { memoryBytes, cpus, cpuShares, processes, storageBytes } = requestLimits;

const changeable = {
  memory_mb: megabytes(memoryBytes).optional(),
  cpus: within(cpus).optional(),
  cpu_shares: count(cpuShares).optional(),
  max_processes: count(processes).optional(),
};

/** Limits of a sandbox, as its creator asks for them. */
export const limitFields = { ...changeable, storage_mb: megabytes(storageBytes).optional() };

const { memory_mb, cpus: cores, max_processes } = limitFields;

/** The same limits by the names of settings. Time and output are limits of runs. */
const sandboxResources = z
  .strictObject({ max_ram_mb: memory_mb, max_cpu_cores: cores, max_processes })
  .describe("same as memory_mb, cpus and max_processes, by the names of the settings; set each limit once")
  .meta({ id: "SandboxResourceLimits" });

export const createSandbox = z
  .strictObject({
    image: z.string().min(1).max(256).optional(),
    template: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe("id or name of a template; it sets image, engine, files and storage"),
    engine: engineChoice.optional(),
    ...limitFields,
    resource_limits: sandboxResources.optional(),
    env: environment.optional(),
    labels: labels.optional(),
    description: description.optional(),
    session_key: sessionKey.optional().describe("a repeated request with the same key returns the same sandbox"),
    idle_timeout_seconds: seconds(lifetimeLimits.idleTimeoutMs).optional(),
    lifetime_seconds: seconds(lifetimeLimits.lifetimeMs).optional(),
    warm: z.enum(warmChoices).optional(),
    priority: priority.optional(),
    snapshot_id: z.string().min(1).max(128).optional(),
    input_folder: z
      .string()
      .regex(folderId)
      .optional()
      .describe("name of a folder in the setting folders.input; copied to /workspace/input (read-only)"),
    output_folder: z
      .string()
      .regex(folderId)
      .optional()
      .describe(
        "name of a folder in the setting folders.output; /workspace/output is copied there when the sandbox is stopped, reset or destroyed",
      ),
    keep_artifacts_seconds: seconds(keptArtifactLimits.keepMs)
      .optional()
      .describe("time that /workspace/output is kept after the sandbox is destroyed"),
    network: policyBody.optional().describe("network rules in addition to the policy of the namespace"),
  })
  .meta({ id: "CreateSandbox" });

type LimitFields = Pick<
  z.output<typeof createSandbox>,
  "memory_mb" | "cpus" | "cpu_shares" | "max_processes" | "storage_mb" | "resource_limits"
>;

export function toLimits(fields: LimitFields): Partial<SandboxLimits> {
  const { resource_limits: asked = {} } = fields;
  return defined({
    memoryBytes: toBytes(either(fields.memory_mb, asked.max_ram_mb, "memory_mb and max_ram_mb")),
    cpus: either(fields.cpus, asked.max_cpu_cores, "cpus and max_cpu_cores"),
    cpuShares: fields.cpu_shares,
    processes: either(fields.max_processes, asked.max_processes, "both max_processes"),
    storageBytes: toBytes(fields.storage_mb),
  });
}

/** Tools have a part of the fields, and labels of their own. */
export function toCreateRequest(body: z.output<typeof createSandbox>): CreateRequest {
  return defined({
    image: body.image,
    template: body.template,
    engine: body.engine,
    limits: toLimits(body),
    env: body.env,
    labels: body.labels,
    description: body.description,
    sessionKey: body.session_key,
    idleTimeoutMs: toMs(body.idle_timeout_seconds),
    lifetimeMs: toMs(body.lifetime_seconds),
    warm: body.warm,
    priority: body.priority,
    snapshotId: body.snapshot_id,
    inputFolder: body.input_folder,
    outputFolder: body.output_folder,
    keepArtifactsMs: toMs(body.keep_artifacts_seconds),
    network: body.network === undefined ? undefined : toPolicy(body.network),
  });
}

export const changeSandbox = z
  .strictObject({
    env: environment.optional().describe("replaces all environment variables, for later runs"),
    labels: labels.optional(),
    description: description.optional(),
    idle_timeout_seconds: seconds(lifetimeLimits.idleTimeoutMs).optional(),
    lifetime_seconds: seconds(lifetimeLimits.lifetimeMs).optional(),
    ...changeable,
  })
  .meta({ id: "ChangeSandbox", examples: [{ idle_timeout_seconds: 600 }] });

export function toChanges(body: z.output<typeof changeSandbox>): SandboxChanges {
  const limits = toLimits(body);
  return defined({
    env: body.env,
    labels: body.labels,
    description: body.description,
    idleTimeoutMs: toMs(body.idle_timeout_seconds),
    lifetimeMs: toMs(body.lifetime_seconds),
    limits: Object.keys(limits).length === 0 ? undefined : limits,
  });
}

export const sandbox = z
  .object({
    id: z.string(),
    status: z.enum(sandboxStates),
    workspace_path: z.literal("/workspace"),
    namespace: z.string(),
    engine: z.enum(["gvisor", "container"]),
    image: z.string(),
    session_key: z.string().nullable(),
    memory_mb: z.number(),
    cpus: z.number(),
    cpu_shares: z.number(),
    max_processes: z.number(),
    storage_mb: z.number(),
    env_names: z.array(z.string()).describe("names of its environment variables, without values"),
    labels: z.record(z.string(), z.string()),
    description: z.string(),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime(),
    idle_timeout_seconds: z.number(),
    expires_at: z.iso.datetime(),
    paused_at: z.iso.datetime().nullable(),
    origin: z.string(),
    failure: z.string().nullable(),
    created_by: z.string(),
    output_folder: z.string().nullable(),
    keep_artifacts_seconds: z.number(),
    template: z
      .object({
        id: z.string(),
        name: z.string(),
        memory: z.boolean().describe("true if the sandbox started with the memory of the template's warm-up"),
        why: z.string().nullable().describe("why memory is false; the warm-up then ran when the sandbox started"),
      })
      .nullable(),
  })
  .meta({ id: "Sandbox" });

const time = (ms: number) => new Date(ms).toISOString();

export function showSandbox(record: SandboxRecord): z.output<typeof sandbox> {
  const { limits } = record;
  return {
    id: record.id,
    status: record.status,
    workspace_path: "/workspace",
    namespace: record.namespace,
    engine: record.engine,
    image: record.image,
    session_key: record.sessionKey,
    memory_mb: toMb(limits.memoryBytes),
    cpus: limits.cpus,
    cpu_shares: limits.cpuShares,
    max_processes: limits.processes,
    storage_mb: toMb(limits.storageBytes),
    env_names: Object.keys(record.env),
    labels: { ...record.labels },
    description: record.description,
    created_at: time(record.createdAtMs),
    last_used_at: time(record.lastUsedAtMs),
    idle_timeout_seconds: record.idleTimeoutMs / 1000,
    expires_at: time(record.expiresAtMs),
    paused_at: record.pausedAtMs === null ? null : time(record.pausedAtMs),
    origin: record.origin,
    failure: record.failure,
    created_by: record.createdBy,
    output_folder: record.outputFolder,
    keep_artifacts_seconds: record.keepArtifactsMs / 1000,
    template: record.template,
  };
}
