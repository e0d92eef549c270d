import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { AppError } from "../core/errors.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";

/** Its text begins with what the tool's schema names first: a client may show no more than the beginning to its model. */
export function toCallResult(
  tool: Pick<Tool, "output">,
  { structured, content = [] }: ToolResult<object>,
): CallToolResult {
  const structuredContent = inOrder(tool.output, structured);
  return { structuredContent, content: [{ type: "text", text: JSON.stringify(structuredContent) }, ...content] };
}

function inOrder(schema: Tool["output"], value: object): Record<string, unknown> {
  const given = new Map<string, unknown>(Object.entries(value));
  const named = schema instanceof z.ZodObject ? Object.keys(schema.shape).filter((name) => given.has(name)) : [];
  return Object.fromEntries([...named.map((name) => [name, given.get(name)] as const), ...given]);
}

/** A failure in words that a model can act on. What nobody foresaw tells nothing of itself. */
export function toErrorResult(error: AppError): CallToolResult {
  const { code, message, hint, details, retryAfterMs } = error;
  const told = { error: code, message, hint, details, retry_after_ms: retryAfterMs };
  return { isError: true, content: [{ type: "text", text: JSON.stringify(told) }] };
}
