import { recordToolCall } from "../journal/record-tool-call.ts";
import { fleetLimits } from "../sandboxes/fleet/limits.ts";
import type { ToolCall } from "./tool.ts";

interface Called {
  tool: string;
  given: unknown;
  sandboxId: string | null;
  durationMs: number;
  outcome: { result: object } | { error: unknown };
}

/** Records a call of one of the product's own tools. */
export async function recordCall({ caller, parts, session }: ToolCall, called: Called): Promise<void> {
  const { journal, callContent: content } = parts;
  await recordToolCall({ journal, content }, { ...called, caller, session: sessionNamed(called.given) ?? session });
}

/** The session that the caller names, as long as a name of one may be. */
function sessionNamed(given: unknown): string | undefined {
  const named = (given as { session_id?: unknown } | null | undefined)?.session_id;
  return typeof named === "string" ? named.slice(0, fleetLimits.sessionKeyChars) : undefined;
}
