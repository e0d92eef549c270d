import type { CallToolResult } from "@modelcontextprotocol/server";
import type { AppError } from "../core/errors.ts";
import type { ToolResult } from "../tools/tool.ts";

export function toCallResult({ structured, content = [] }: ToolResult<object>): CallToolResult {
  return {
    structuredContent: { ...structured },
    content: [{ type: "text", text: JSON.stringify(structured) }, ...content],
  };
}

/** A failure in words that a model can act on. What nobody foresaw tells nothing of itself. */
export function toErrorResult(error: AppError): CallToolResult {
  const { code, message, hint, details, retryAfterMs } = error;
  const told = { error: code, message, hint, details, retry_after_ms: retryAfterMs };
  return { isError: true, content: [{ type: "text", text: JSON.stringify(told) }] };
}
