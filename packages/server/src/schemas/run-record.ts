import { z } from "zod";
import { errorCodes } from "../core/errors.ts";
import { languages } from "../core/language.ts";
import { endedBy, fileChange, outcome } from "./run.ts";

export const runRecord = z
  .object({
    run_id: z.string(),
    sandbox_id: z.string(),
    engine: z.enum(["gvisor", "container"]),
    started_at: z.iso.datetime(),
    outcome,
    ended_by: endedBy,
    command: z.string(),
    language: z.enum(languages).nullable(),
    exit_code: z.number().nullable(),
    signal: z.string().nullable(),
    duration_ms: z.number(),
    cpu_ms: z.number(),
    timed_out: z.boolean(),
    cpu_limit: z.boolean(),
    oom_killed: z.boolean(),
    stdout: z.string(),
    stderr: z.string(),
    truncated: z.boolean(),
    files_changed: z.array(fileChange),
    error: z.object({ code: z.enum(errorCodes), message: z.string() }).nullable(),
  })
  .meta({ id: "RunRecord" });
