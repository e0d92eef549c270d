import type { z } from "zod";
import { AppError } from "../core/errors.ts";
import { hasMoreNames, isCrowded, isNames } from "../core/json-crowd.ts";
import { requirePermission } from "../core/principal.ts";
import { toolLimits } from "../core/tool-limits.ts";
import { hintOf } from "../schemas/meant-field.ts";
import type { Tool, ToolCall, ToolResult } from "./tool.ts";

/** Calls a tool with what a stranger sent: who may not is refused, then what does not fit its schema. */
export async function callTool(tool: Tool, call: ToolCall, given: unknown): Promise<ToolResult<object>> {
  const { principal } = call.caller;
  const startMs = performance.now();
  let failed = true;
  try {
    requirePermission(principal, tool.permission);
    checkNames(given);
    checkCrowd(tool, given);
    const input = tool.input.safeParse(given ?? {});
    if (!input.success) throw badInput(tool, input.error);
    const result = await tool.run(
      { ...call, caller: { ...call.caller, gone: call.signal, told: call.progress } },
      input.data,
    );
    failed = false;
    return result;
  } finally {
    call.parts.counts.add(principal.namespace, tool.name, performance.now() - startMs, failed);
  }
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
