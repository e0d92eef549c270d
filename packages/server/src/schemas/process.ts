import { z } from "zod";
import { type Command, lineOrArgv, toCommand } from "../core/command.ts";
import { requestLimits, terminalLimits } from "../core/limits.ts";
import type { ProcessInfo } from "../core/process.ts";
import { seconds } from "./amount.ts";
import { command, commandFields, processResult, runFields, runId } from "./run.ts";
import { sandboxId } from "./sandbox.ts";

const { rows, columns } = terminalLimits;

export const terminalSize = z
  .strictObject({
    rows: z.number().int().min(rows.min).max(rows.max).default(rows.default),
    columns: z.number().int().min(columns.min).max(columns.max).default(columns.default),
  })
  .meta({ id: "TerminalSize", examples: [{ rows: 24, columns: 80 }] });

const { cwd, env, resource_limits, priority } = runFields;

export const startBody = z
  .strictObject({
    command,
    cwd,
    env,
    timeout_seconds: seconds(requestLimits.processTimeMs).optional(),
    resource_limits,
    priority,
    stdin: z.boolean().optional().describe("keep stdin open for writing"),
    terminal: terminalSize.optional().describe("run on a terminal instead of pipes"),
  })
  .meta({ id: "StartProcess" });

type StartBody = Omit<z.output<typeof startBody>, "priority">;

export function processCommand({ command, stdin, terminal, ...body }: StartBody): Command {
  const input = stdin === true ? "stream" : undefined;
  return toCommand({ ...commandFields(body), what: lineOrArgv(command), as: "process", stdin: input, terminal });
}

export const processId = sandboxId.extend({ process: z.string().min(1).max(64).describe("id of the process") });

const stretch = z.object({ from: z.number(), to: z.number() });

export const processInfo = z
  .object({
    id: z.string(),
    run_id: runId,
    pid: z.number().nullable(),
    state: z.enum(["running", "exited", "lost"]),
    command: z.array(z.string()),
    started_at: z.iso.datetime(),
    result: z.object(processResult).nullable(),
    output: z.object({ stdout: stretch, stderr: stretch }).describe("range of bytes of each channel that can be read"),
  })
  .meta({ id: "Process" });

export const outputPiece = z
  .object({
    offset: z.number(),
    next_offset: z.number(),
    data: z.string(),
    ended: z.boolean().describe("true if there will be no more output"),
  })
  .meta({ id: "OutputPiece" });

export function showProcess(info: ProcessInfo): z.output<typeof processInfo> {
  return { ...info, command: [...info.command] };
}
