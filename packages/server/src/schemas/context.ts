import { z } from "zod";
import { type ContextInfo, contextLanguages } from "../core/context.ts";
import { endedBy, networkRefusals, outcome, runFields, runId } from "./run.ts";
import { sandboxId } from "./sandbox.ts";

const { cwd, env, stdin, timeout_seconds, resource_limits, stream, encoding } = runFields;

export const createBody = z
  .strictObject({
    language: z.enum(contextLanguages),
    cwd,
    env,
    resource_limits: resource_limits.describe("memory and processes; time and output are limits of a run"),
  })
  .meta({ id: "CreateContext" });

export const runBody = z
  .strictObject({
    code: z.string(),
    stdin,
    timeout_seconds,
    resource_limits: resource_limits.describe("time and output; memory and processes are limits of the context"),
    stream,
    encoding,
  })
  .meta({ id: "RunInContext" });

export const contextId = sandboxId.extend({ context: z.string().min(1).max(64).describe("id of the context") });

const contextEnd = z.object({
  reason: z.string(),
  exit_code: z.number().nullable(),
  signal: z.string().nullable(),
  oom_killed: z.boolean(),
});

export const context = z
  .object({
    id: z.string(),
    language: z.enum(contextLanguages),
    idle: z.boolean(),
    ended: contextEnd.nullable().describe("why its interpreter ended; a restart starts a new one"),
  })
  .meta({ id: "Context" });

export const contextRunResult = z
  .object({
    run_id: runId,
    stdout: z.string(),
    stderr: z.string(),
    truncated: z.boolean(),
    results: z.array(
      z.object({
        kind: z.enum(["value", "display"]),
        text: z.string(),
        json: z.unknown().optional(),
        html: z.string().optional(),
        png: z.string().optional().describe("base64"),
        svg: z.string().optional(),
        truncated: z.boolean(),
      }),
    ),
    error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).optional(),
    outcome,
    ended_by: endedBy,
    ...networkRefusals,
    duration_ms: z.number(),
    timed_out: z.boolean(),
    cpu_limit: z.boolean(),
    ended: contextEnd.optional(),
  })
  .meta({ id: "ContextRunResult" });

export function showContext({ id, language, idle, ended }: ContextInfo): z.output<typeof context> {
  return { id, language, idle, ended: ended ?? null };
}
