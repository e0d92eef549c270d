import { z } from "zod";
import {
  type CallStats,
  type DeployRequest,
  type ServerConfig,
  type ServerRecord,
  type ServerSource,
  type ServerStatus,
  serverName,
  serverStates,
} from "../core/server.ts";
import { serverRequestLimits } from "../http/limits.ts";
import { defined } from "../lib/defined.ts";
import { serverLimits } from "../servers/limits.ts";
import { count, megabytes, seconds, toBytes, toMb, toMs } from "./amount.ts";
import { policyBody, showDraft, toPolicy } from "./egress.ts";
import { environment, plainText } from "./sandbox.ts";
import { secretName } from "./secret.ts";

const { memoryBytes, cpuShares, storageBytes, processes } = serverLimits;

export const serverId = z.strictObject({ server: z.string().min(1).max(64).describe("id or name of the server") });

const name = z
  .string()
  .regex(
    serverName,
    "a name is of a-z, 0-9, '.', '_' and '-', begins with a letter or a digit, and has at most 63 characters",
  );

const limitFields = {
  memory_mb: megabytes(memoryBytes).optional(),
  cpu_shares: count(cpuShares).optional(),
  storage_mb: megabytes(storageBytes).optional(),
  max_processes: count(processes).optional(),
};

const configFields = {
  command: z
    .array(plainText.min(1).max(serverRequestLimits.wordChars))
    .min(1)
    .max(serverLimits.commandWords)
    .nullable()
    .optional()
    .describe("words of the command that starts the server; null: what the build finds"),
  port: count(serverLimits.port).optional().describe("port of a server that speaks HTTP"),
  image: z.string().min(1).max(256).optional().describe("image that the code is added to"),
  env: environment.optional().describe("environment variables, visible in answers: use secrets for keys"),
  secrets: z
    .array(secretName)
    .max(serverLimits.secrets)
    .optional()
    .describe("names of secrets, which the server reads from /run/secrets/NAME; requires the scope operate"),
  network: policyBody.optional().describe("what the server may reach; everything else is denied"),
  ...limitFields,
  idle_timeout_seconds: seconds(serverLimits.idleTimeoutMs).optional(),
};

/** Settings to change; the others stay as they are. */
export const changeServer = z
  .strictObject(configFields)
  .meta({ id: "ChangeServer", examples: [{ idle_timeout_seconds: 600 }] });

const packageName = z.string().min(1).max(serverRequestLimits.packageChars);
const packageVersion = packageName.optional().describe("default: the newest one");

const namedSource = z.union([
  z.strictObject({ kind: z.enum(["npm", "pypi"]), package: packageName, version: packageVersion }),
  z.strictObject({
    kind: z.literal("remote"),
    url: z.url({ protocol: /^https?$/ }).max(serverRequestLimits.urlChars),
  }),
]);

const rebuild = z.boolean().describe("build again even if the same inputs were built before");

/** A deploy without an upload. */
export const deployServer = z
  .strictObject({
    name: name
      .optional()
      .describe("name of the server (default: that of the package); an existing server gets a new version"),
    source: namedSource.describe(
      "a package of the configured registries; servers that run elsewhere are refused for now",
    ),
    ...configFields,
    rebuild: rebuild.optional(),
  })
  .meta({
    id: "DeployServer",
    examples: [{ source: { kind: "pypi", package: "mcp-server-time", version: "2026.8.31" } }],
  });

/** Settings of an uploaded server, which stand in the query as JSON. */
export const uploadConfig = z.strictObject({ ...configFields, rebuild: rebuild.optional() });

export const uploadQuery = z.strictObject({
  name: name.optional().describe("name of an uploaded server; an existing server gets a new version"),
  config: z
    .string()
    .min(2)
    .max(serverRequestLimits.configChars)
    .optional()
    .describe("settings of an uploaded server: a JSON object with the fields of DeployServer, except name and source"),
});

type ConfigBody = z.output<typeof changeServer>;

export function toConfig(body: ConfigBody): Partial<ServerConfig> {
  const limits = defined({
    memoryBytes: toBytes(body.memory_mb),
    cpuShares: body.cpu_shares,
    storageBytes: toBytes(body.storage_mb),
    processes: body.max_processes,
  });
  return defined({
    ...{ command: body.command, port: body.port, image: body.image, env: body.env, secrets: body.secrets },
    network: body.network === undefined ? undefined : toPolicy(body.network),
    limits: Object.keys(limits).length === 0 ? undefined : limits,
    idleTimeoutMs: toMs(body.idle_timeout_seconds),
  });
}

export function toDeploy({ name, source, rebuild, ...config }: z.output<typeof deployServer>): DeployRequest {
  return { source: toSource(source), config: toConfig(config), ...defined({ name, rebuild }) };
}

function toSource(source: z.output<typeof namedSource>): ServerSource {
  return source.kind === "remote" ? source : { ...source, version: source.version ?? "" };
}

export const server = z
  .object({
    id: z.string(),
    name: z.string(),
    namespace: z.string(),
    endpoint: z.string().describe("URL for MCP clients"),
    state: z.enum(serverStates),
    current: z.number().int().nullable().describe("version that answers calls; null until one has passed its check"),
    newest: z.number().int().describe("number of the newest version"),
    instances: z.number().int().describe("sandboxes that run it now"),
    started_at: z.iso.datetime().nullable(),
    failure: z.string().nullable().describe("end of its output, if it is in a crash loop"),
    cpu_ms: z.number(),
    memory_mb: z.number().describe("memory that its sandboxes use now"),
    calls: z
      .object({
        count: z.number().int(),
        errors: z.number().int(),
        p50_ms: z.number().nullable(),
        p95_ms: z.number().nullable(),
        p99_ms: z.number().nullable(),
      })
      .describe("tool calls since the daemon started"),
    config: z.object({
      command: z.array(z.string()).nullable(),
      port: z.number().int(),
      image: z.string(),
      env_names: z.array(z.string()),
      env: z.record(z.string(), z.string()).nullable().describe("null for keys without the scope use"),
      secrets: z.array(z.string()),
      network: policyBody,
      memory_mb: z.number(),
      cpu_shares: z.number(),
      storage_mb: z.number(),
      max_processes: z.number(),
      idle_timeout_seconds: z.number(),
    }),
    created_at: z.iso.datetime(),
    created_by: z.string(),
  })
  .meta({ id: "Server" });

export interface ShownServer {
  record: ServerRecord;
  status: ServerStatus;
  stats: CallStats;
  endpoint: string;
  /** True if the caller may see values of variables. */
  showsEnv: boolean;
}

const time = (ms: number) => new Date(ms).toISOString();

export function showServer({ record, status, stats, endpoint, showsEnv }: ShownServer): z.output<typeof server> {
  const { id, name, namespace, current, newest, config, createdAtMs, createdBy } = record;
  const { calls, errors, p50Ms, p95Ms, p99Ms } = stats;
  return {
    ...{ id, name, namespace, endpoint, current, newest },
    state: status.state,
    instances: status.instances,
    started_at: status.startedAtMs === null ? null : time(status.startedAtMs),
    failure: status.failure,
    cpu_ms: status.cpuMs,
    memory_mb: toMb(status.memoryBytes),
    calls: { count: calls, errors, p50_ms: p50Ms, p95_ms: p95Ms, p99_ms: p99Ms },
    config: showConfig(config, showsEnv),
    created_at: time(createdAtMs),
    created_by: createdBy,
  };
}

function showConfig(config: ServerConfig, showsEnv: boolean): z.output<typeof server>["config"] {
  const { limits } = config;
  return {
    command: config.command === null ? null : [...config.command],
    port: config.port,
    image: config.image,
    env_names: Object.keys(config.env),
    env: showsEnv ? { ...config.env } : null,
    secrets: [...config.secrets],
    network: showDraft(config.network),
    memory_mb: toMb(limits.memoryBytes ?? memoryBytes.default),
    cpu_shares: limits.cpuShares ?? cpuShares.default,
    storage_mb: toMb(limits.storageBytes ?? storageBytes.default),
    max_processes: limits.processes ?? processes.default,
    idle_timeout_seconds: config.idleTimeoutMs / 1000,
  };
}
