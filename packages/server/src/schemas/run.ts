import { z } from "zod";
import type { CommandDraft } from "../core/command.ts";
import { containments } from "../core/engine.ts";
import { AppError } from "../core/errors.ts";
import { requestLimits, sandboxLimits } from "../core/limits.ts";
import { refusalKinds } from "../core/network-refusal.ts";
import { outcomes } from "../core/outcome.ts";
import { either } from "../core/resource-limits.ts";
import type { RunLimits } from "../core/run.ts";
import { runEnds } from "../core/run-end.ts";
import { egressLimits } from "../egress/limits.ts";
import { defined } from "../lib/defined.ts";
import { count, megabytes, seconds, secondsOrNone, toBytes, toMs } from "./amount.ts";
import { environment, filePath, limitFields, plainText, priority } from "./sandbox.ts";

const { timeoutMs, memoryBytes, cpuTimeMs, processes, outputBytes } = requestLimits;
const program = plainText.min(1);

export const command = z
  .union([
    program,
    z
      .tuple([program], plainText)
      .refine((words) => words.length <= sandboxLimits.arguments, `at most ${sandboxLimits.arguments} arguments`)
      .meta({ minItems: 1, maxItems: sandboxLimits.arguments }),
  ])
  .describe("a command line for the shell, or a program and its arguments");

const resourceLimits = z
  .strictObject({
    memory_mb: megabytes(memoryBytes).optional(),
    max_ram_mb: megabytes(memoryBytes).optional().describe("same as memory_mb"),
    max_cpu_cores: limitFields.cpus.describe("at least the sandbox's cores: the sandbox sets this limit"),
    timeout_seconds: secondsOrNone(timeoutMs).optional().describe("same as timeout_seconds of the request"),
    cpu_time_seconds: seconds(cpuTimeMs).optional(),
    max_processes: count(processes).optional(),
    max_output_bytes: count(outputBytes).optional(),
  })
  .meta({ id: "ResourceLimits" });

/** Fields of everything that runs once. */
export const runFields = {
  cwd: filePath.optional(),
  env: environment.optional(),
  stdin: z.string().optional().describe("standard input, as text"),
  stdin_base64: z
    .string()
    .regex(/^[A-Za-z0-9+/]*={0,2}$/)
    .optional()
    .describe("standard input as base64, in place of stdin"),
  timeout_seconds: secondsOrNone(timeoutMs).optional().describe("wall-clock limit; 0 disables it"),
  resource_limits: resourceLimits.optional(),
  allowed_domains: z
    .array(z.string().min(1).max(egressLimits.ruleCharacters))
    .max(egressLimits.runRules)
    .optional()
    .describe("domains that the run may connect to, as rules: api.example.com, db.example.com:5432"),
  track_files: z.boolean().optional().describe("report files_changed (default: true)"),
  priority: priority.optional(),
  stream: z.boolean().optional().describe("stream the output as server-sent events, or as NDJSON if Accept selects it"),
  encoding: z.enum(["utf8", "base64"]).optional().describe("encoding of streamed output"),
};

export const processResult = {
  exit_code: z.number().int(),
  signal: z.string().nullable(),
  duration_ms: z.number(),
  cpu_ms: z.number(),
  max_rss: z.number(),
  timed_out: z.boolean(),
  cpu_limit: z.boolean(),
  oom_killed: z.boolean(),
};

export const fileChange = z
  .object({
    path: z.string(),
    action: z.enum(["created", "modified", "deleted"]),
    size_bytes: z.number(),
    sha256: z.string().nullable(),
  })
  .meta({ id: "FileChange" });

export const outcome = z
  .enum(outcomes)
  .describe("completed: exit code 0; timeout: ended by its time limit; failed: any other end, also without a result");

export const endedBy = z
  .enum(runEnds)
  .nullable()
  .describe("limit that ended the run; null if none did. Too much output only sets `truncated`");

/** Refusals of a sandbox from the start of a run to its end. */
export const networkRefusals = {
  refused: z
    .array(
      z
        .object({
          host: z.string(),
          port: z.number().int().describe("0: a DNS lookup of a name that does not exist for the sandbox"),
          kind: z
            .enum(refusalKinds)
            .describe("denied: by policy or a human; failed: not reachable; limited: too many connections at once"),
          reason: z.string(),
          hint: z.string().describe("how to get access"),
        })
        .meta({ id: "NetworkRefusal" }),
    )
    .describe("connections refused during the run, one per host and port"),
  refused_truncated: z.boolean().describe("true if `refused` is incomplete"),
};

export const runId = z.string().describe("id of the run: GET /api/v1/runs/{id}; also in audit log, events and records");

export const runResult = z
  .object({
    stdout: z.string(),
    stderr: z.string(),
    truncated: z.boolean(),
    run_id: runId,
    ...processResult,
    outcome,
    ended_by: endedBy,
    ...networkRefusals,
    warm: z.boolean(),
    files_changed: z.array(fileChange),
    files_changed_truncated: z.boolean(),
    engine: z.enum(["gvisor", "container"]),
    enforced: z.array(z.enum(containments)),
    not_enforced: z.array(z.object({ what: z.enum(containments), why: z.string() })),
  })
  .meta({ id: "RunResult" });

interface LimitFields {
  timeout_seconds?: number | undefined;
  resource_limits?: z.output<typeof resourceLimits> | undefined;
}

export function toRunLimits({ timeout_seconds, resource_limits: asked = {} }: LimitFields): Partial<RunLimits> {
  return defined({
    timeoutMs: toMs(either(timeout_seconds, asked.timeout_seconds, "both timeout_seconds")),
    cpus: asked.max_cpu_cores,
    cpuTimeMs: toMs(asked.cpu_time_seconds),
    processes: asked.max_processes,
    outputBytes: asked.max_output_bytes,
    memoryBytes: toBytes(either(asked.memory_mb, asked.max_ram_mb, "memory_mb and max_ram_mb")),
  });
}

interface CommandFields extends LimitFields {
  cwd?: string | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  stdin?: string | undefined;
  stdin_base64?: string | undefined;
  allowed_domains?: readonly string[] | undefined;
}

/** The fields of a request that decide how its command runs. */
export function commandFields(body: CommandFields): Pick<CommandDraft, "cwd" | "env" | "stdin" | "limits" | "domains"> {
  const { cwd, env, allowed_domains: domains } = body;
  return { cwd, env, stdin: toStdin(body), limits: toRunLimits(body), domains };
}

/** Standard input as text or base64. */
function toStdin({ stdin, stdin_base64 }: CommandFields): Uint8Array | undefined {
  if (stdin_base64 === undefined) return stdin === undefined ? undefined : Buffer.from(stdin);
  if (stdin !== undefined) throw new AppError("invalid", "stdin and stdin_base64 exclude each other");
  return Buffer.from(stdin_base64, "base64");
}
