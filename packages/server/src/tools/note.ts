import { entryOf, type Note } from "../core/audit.ts";
import type { ToolCall } from "./tool.ts";

/** What a tool did that no use case writes down by itself; in the log before its caller hears of it. */
export async function note({ caller, parts }: ToolCall, what: Note): Promise<void> {
  await parts.audit.record(entryOf(caller, what));
}
