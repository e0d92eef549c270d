import { hash } from "node:crypto";
import type { ContentPolicy } from "../core/audit.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";
import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import type { Redactor } from "../core/redaction.ts";
import type { CallVerdict } from "../core/tool-call.ts";
import { type CallTexts, contentOf, failureText, textOf, verdictOf } from "./call-texts.ts";

/** Content of calls that the audit log keeps beside their entries, and what masks it. */
export interface CallContent {
  policy: ContentPolicy;
  redactors: (namespace: string) => Promise<readonly Redactor[]>;
}

interface EndedCall {
  caller: Caller;
  tool: string;
  session: string;
  sandboxId: string | null;
  /** The hosted server whose tool it is. */
  serverId?: string;
  given: unknown;
  durationMs: number;
  /** `failed`: a result that says itself that the tool failed. */
  outcome: { result: object; failed?: boolean } | { error: unknown };
}

/** Records a call of a tool and how it ended, before its caller hears of that (AUD-02). */
export async function recordToolCall(
  { journal, content: { policy, redactors } }: { journal: Pick<Recorder, "record">; content: CallContent },
  { caller, tool, session, sandboxId, serverId, given, durationMs, outcome }: EndedCall,
): Promise<void> {
  const texts: CallTexts = {
    arguments: textOf(given ?? {}),
    result: "error" in outcome ? failureText(outcome.error) : textOf(outcome.result),
  };
  const hidden = policy === "redacted" ? await redactors(caller.principal.namespace) : [];
  await journal.record({
    type: "tool.called",
    by: caller,
    sandboxId,
    data: {
      tool,
      session,
      ...(serverId === undefined ? {} : { server_id: serverId }),
      ...endOf(outcome),
      duration_ms: Math.round(durationMs),
      arguments_sha256: hash("sha256", texts.arguments),
      result_sha256: hash("sha256", texts.result),
    },
    ...(policy === "none" ? {} : { content: contentOf(texts, policy, hidden) }),
  });
}

function endOf(outcome: EndedCall["outcome"]): { verdict: CallVerdict; error_code: ErrorCode | null } {
  if (!("error" in outcome)) return { verdict: outcome.failed === true ? "error" : "ok", error_code: null };
  const { error } = outcome;
  return { verdict: verdictOf(error), error_code: error instanceof AppError ? error.code : "internal" };
}
