import type { z } from "zod";
import { AppError } from "../core/errors.ts";
import { requirePermission } from "../core/principal.ts";
import type { Tool, ToolCall, ToolResult } from "./tool.ts";

/** Calls a tool with what a stranger sent: who may not is refused, then what does not fit its schema. */
export async function callTool(tool: Tool, call: ToolCall, given: unknown): Promise<ToolResult<object>> {
  const { principal } = call.caller;
  const startMs = performance.now();
  let failed = true;
  try {
    requirePermission(principal, tool.permission);
    const input = tool.input.safeParse(given ?? {});
    if (!input.success) throw badInput(tool, input.error);
    const result = await tool.run(call, input.data);
    failed = false;
    return result;
  } finally {
    call.parts.counts.add(principal.namespace, tool.name, performance.now() - startMs, failed);
  }
}

function badInput({ name }: Tool, { issues }: z.ZodError): AppError {
  const all = issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`));
  return new AppError("invalid", `${name} does not take this: ${all.join("; ")}`, {
    hint: "see the input schema of the tool",
    details: { issues: issues.map(({ path, message }) => ({ path: path.map(String), message })) },
  });
}
