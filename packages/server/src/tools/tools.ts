import { executeCode } from "./execute-code.ts";
import type { Tool, ToolSet } from "./tool.ts";

/** Every tool there is, in the order clients see them. */
export const tools: readonly Tool[] = [executeCode];

/** Those of some sets; a tool that is in two comes once. */
export function toolsOf(sets: readonly ToolSet[]): Tool[] {
  return tools.filter((tool) => tool.sets.some((set) => sets.includes(set)));
}

/** Of callers without a session of their own. */
export const defaultSession = "default";
