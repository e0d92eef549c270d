import { approvalLimits } from "../../approvals/limits.ts";
import type { Approvals, Question } from "../../core/approval.ts";
import type { Command } from "../../core/command.ts";
import type { CommandDecision } from "../../core/command-policy.ts";
import { AppError } from "../../core/errors.ts";
import { type PolicyRefusal, refused, whyOf } from "../../core/policy-refusal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { describe } from "./describe-command.ts";

/** Asks a human whether a job may run, and waits for a while. Resolves with the approval's id; throws the refusal (EXE-12). */
export async function askCommand(
  approvals: Approvals,
  sandbox: Pick<SandboxRecord, "id" | "namespace">,
  command: Command,
  { rule, categories }: CommandDecision,
  signal?: AbortSignal,
): Promise<string> {
  const refusal = { kind: "command", what: "this command", rule, details: { categories } } as const;
  const question = questionOf(sandbox, command, { rule, categories: categories.join(",") });
  const asked = await approvals.ask(question).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "too_large")
      throw refused({ ...refusal, why: "it takes a human's approval, and is too long to be shown to one" });
    throw explained(error, refusal);
  });
  const waits = [AbortSignal.timeout(approvals.holdMs), ...(signal === undefined ? [] : [signal])];
  const answer = asked.state === "pending" ? await approvals.settled(asked.id, AbortSignal.any(waits)) : asked;
  if (answer.state === "approved") return answer.id;
  throw refused({ ...refusal, why: whyOf(answer), approval: answer });
}

/** Nobody attends, or too many questions wait: the rule belongs to the refusal all the same. */
function explained(error: unknown, { rule, details }: Omit<PolicyRefusal, "why">): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message, hint, retryAfterMs } = error;
  return new AppError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    details: { ...error.details, refused: "command", rule, ...details },
    cause: error,
  });
}

/** Shows everything that decides what runs. The same is compared: an answer is for what was shown. */
function questionOf(
  { id, namespace }: Pick<SandboxRecord, "id" | "namespace">,
  command: Command,
  why: Question["detail"],
): Question {
  const { text, detail } = describe(command);
  return {
    kind: "command",
    namespace,
    sandboxId: id,
    runId: command.id,
    subject: shorten(text) || "(nothing)",
    text,
    compared: JSON.stringify([text, detail]),
    detail: { ...detail, ...why },
  };
}

function shorten(text: string): string {
  const most = approvalLimits.subjectChars;
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
