import type { z } from "zod";
import { AppError } from "../core/errors.ts";
import { requireScope } from "../core/scope.ts";
import { hasMoreNames, isCrowded, isNames } from "../lib/json-crowd.ts";
import { hintOf } from "../schemas/meant-field.ts";
import { toolLimits } from "./limits.ts";
import { recordCall } from "./record-call.ts";
import type { Tool, ToolCall, ToolResult } from "./tool.ts";

/** Calls a tool with what a stranger sent: who may not is refused, then what does not fit its schema. */
export async function callTool(tool: Tool, call: ToolCall, given: unknown): Promise<ToolResult<object>> {
  if (tool.ends !== true) call.parts.journal.requireRoom(call.caller.principal);
  const startMs = performance.now();
  let sandboxId: string | null = null;
  const using = (id: string) => {
    sandboxId = id;
    call.using?.(id);
  };
  const end = async (outcome: { result: object } | { error: unknown }) => {
    const durationMs = performance.now() - startMs;
    call.parts.counts.add(call.caller.principal.namespace, tool.name, durationMs, "error" in outcome);
    await recordCall(call, { tool: tool.name, given, sandboxId, durationMs, outcome });
  };
  let result: ToolResult<object>;
  try {
    result = await run(tool, { ...call, using }, given);
  } catch (error) {
    await end({ error });
    throw error;
  }
  await end({ result: result.structured });
  return result;
}

async function run(tool: Tool, call: ToolCall, given: unknown): Promise<ToolResult<object>> {
  requireScope(call.caller.principal, tool.scope);
  checkNames(given);
  checkCrowd(tool, given);
  const input = tool.input.safeParse(given ?? {});
  if (!input.success) throw badInput(tool, input.error);
  return tool.run({ ...call, caller: { ...call.caller, gone: call.signal, told: call.progress } }, input.data);
}

/** Before a schema is busy with them. */
export function checkNames(given: unknown): void {
  if (hasMoreNames(given, toolLimits.names))
    throw new AppError("too_large", `a tool takes no more than ${toolLimits.names} names`);
}

/** Likewise in all that a schema looks into. */
function checkCrowd({ name, data = [] }: Tool, given: unknown): void {
  if (!isNames(given)) return;
  const fields = Object.entries(given).flatMap(([field, value]) => (data.includes(field) ? [] : [value]));
  if (isCrowded(fields, toolLimits.values))
    throw new AppError("too_large", `${name} takes no more than ${toolLimits.values} names and items`);
}

/** Strangers choose how much there is to say, and the names in it. */
function badInput({ name, input }: Tool, error: z.ZodError): AppError {
  const told = error.issues.slice(0, toolLimits.issues).map(({ path, message }) => ({
    path: path.map((part) => String(part).slice(0, toolLimits.issueCharacters)),
    message: message.slice(0, toolLimits.issueCharacters),
  }));
  const all = told.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`));
  return new AppError("invalid", `${name} does not take this: ${all.join("; ")}`, {
    hint: hintOf(input, error) ?? "see the input schema of the tool",
    details: { issues: told },
  });
}
