import type { Validation } from "../core/validation.ts";
import type { ToolCall } from "./tool.ts";

/** Checks on the account of the caller's namespace. */
export function validationOf({ caller, parts }: ToolCall): Validation {
  return parts.validation.for(caller.principal.namespace);
}
