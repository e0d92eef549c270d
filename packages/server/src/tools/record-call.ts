import { hash } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { fleetLimits } from "../sandboxes/fleet/limits.ts";
import { type CallTexts, contentOf, failureText, textOf, verdictOf } from "./call-texts.ts";
import type { ToolCall } from "./tool.ts";

interface Called {
  tool: string;
  given: unknown;
  sandboxId: string | null;
  durationMs: number;
  outcome: { result: object } | { error: unknown };
}

/** Records a call of a tool and how it ended, before its caller hears of that (AUD-02). */
export async function recordCall({ caller, parts, session }: ToolCall, called: Called): Promise<void> {
  const { tool, given, sandboxId, durationMs, outcome } = called;
  const failure = "error" in outcome ? outcome.error : undefined;
  const texts: CallTexts = {
    arguments: textOf(given ?? {}),
    result: "error" in outcome ? failureText(failure) : textOf(outcome.result),
  };
  const { policy, redactors } = parts.callContent;
  const hidden = policy === "redacted" ? await redactors(caller.principal.namespace) : [];
  await parts.journal.record({
    type: "tool.called",
    by: caller,
    sandboxId,
    data: {
      tool,
      session: sessionNamed(given) ?? session,
      verdict: "error" in outcome ? verdictOf(failure) : "ok",
      error_code: failure instanceof AppError ? failure.code : "error" in outcome ? "internal" : null,
      duration_ms: Math.round(durationMs),
      arguments_sha256: hash("sha256", texts.arguments),
      result_sha256: hash("sha256", texts.result),
    },
    ...(policy === "none" ? {} : { content: contentOf(texts, policy, hidden) }),
  });
}

/** The session that the caller names, as long as a name of one may be. */
function sessionNamed(given: unknown): string | undefined {
  const named = (given as { session_id?: unknown } | null | undefined)?.session_id;
  return typeof named === "string" ? named.slice(0, fleetLimits.sessionKeyChars) : undefined;
}
