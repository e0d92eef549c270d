import { z } from "zod";
import { warmChoices } from "../core/engine.ts";
import { httpLimits } from "../core/http-limits.ts";
import { sandboxStates } from "../core/lifecycle.ts";
import { engineChoices } from "../core/request.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";

const MiB = 1024 ** 2;
const name = z.string().min(1).max(httpLimits.nameChars);
const value = z.string().max(httpLimits.valueChars);

export const sandboxId = z.strictObject({ id: z.string().min(1).max(64).describe("of the sandbox") });

export const environment = z.record(name, value).describe("environment variables");

const labels = z
  .record(name, z.string().max(1024))
  .refine((record) => Object.keys(record).length <= httpLimits.labels, `at most ${httpLimits.labels} labels`)
  .describe("names and values of your own");

/** A range is checked inside, where the error names its cap; this only keeps out what is no number. */
const amount = z.number().min(0).max(1e12);

const limitFields = {
  memory_mb: amount.optional(),
  cpus: amount.optional(),
  cpu_shares: amount.int().optional(),
  max_processes: amount.int().optional(),
};

export const createSandbox = z
  .strictObject({
    image: z.string().min(1).max(256).optional(),
    engine: z.enum(engineChoices).optional(),
    ...limitFields,
    storage_mb: amount.optional(),
    env: environment.optional(),
    labels: labels.optional(),
    session_key: z.string().min(1).max(256).optional().describe("the same key gets the same sandbox"),
    idle_timeout_seconds: amount.optional(),
    lifetime_seconds: amount.optional(),
    warm: z.enum(warmChoices).optional(),
    priority: z.number().int().min(-100).max(100).optional(),
    snapshot_id: z.string().min(1).max(128).optional(),
  })
  .meta({ id: "CreateSandbox" });

export const changeSandbox = z
  .strictObject({
    labels: labels.optional(),
    idle_timeout_seconds: amount.optional(),
    lifetime_seconds: amount.optional(),
    ...limitFields,
  })
  .meta({ id: "ChangeSandbox" });

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
    env_names: z.array(z.string()).describe("of its variables; values are not shown"),
    labels: z.record(z.string(), z.string()),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime(),
    idle_timeout_seconds: z.number(),
    expires_at: z.iso.datetime(),
    paused_at: z.iso.datetime().nullable(),
    origin: z.string(),
    failure: z.string().nullable(),
    created_by: z.string(),
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
    memory_mb: limits.memoryBytes / MiB,
    cpus: limits.cpus,
    cpu_shares: limits.cpuShares,
    max_processes: limits.processes,
    storage_mb: limits.storageBytes / MiB,
    env_names: Object.keys(record.env),
    labels: { ...record.labels },
    created_at: time(record.createdAtMs),
    last_used_at: time(record.lastUsedAtMs),
    idle_timeout_seconds: record.idleTimeoutMs / 1000,
    expires_at: time(record.expiresAtMs),
    paused_at: record.pausedAtMs === null ? null : time(record.pausedAtMs),
    origin: record.origin,
    failure: record.failure,
    created_by: record.createdBy,
  };
}
