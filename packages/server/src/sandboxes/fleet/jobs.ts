import { hash } from "node:crypto";
import type { Approvals } from "../../core/approval.ts";
import { type Command, type CommandKind, kindOf, textOf } from "../../core/command.ts";
import type { CommandDecision, CommandPolicy } from "../../core/command-policy.ts";
import type { ContextInfo } from "../../core/context.ts";
import { AppError } from "../../core/errors.ts";
import type { JobOptions } from "../../core/fleet.ts";
import { refused } from "../../core/policy-refusal.ts";
import type { Caller } from "../../core/principal.ts";
import { askCommand } from "./ask-command.ts";
import { decideCommand } from "./decide-command.ts";
import type { Member } from "./member.ts";
import type { JobQueue } from "./queue.ts";
import type { ExpectedRun, RunBook, RunEvent } from "./run-book.ts";

export interface JobParts {
  queue: JobQueue;
  runs: RunBook;
  policy: CommandPolicy;
  approvals: Approvals;
}

/** A job in its turn, with what became of it in the log before its caller hears of it. */
export async function runJob<T extends object>(
  { queue, runs, policy, approvals }: JobParts,
  caller: Caller,
  member: Member,
  command: Command,
  { priority, signal, streams }: JobOptions,
  act: () => Promise<T>,
): Promise<T> {
  const { id } = command;
  const kind = kindOf(command);
  const decision = decideCommand(policy, command);
  const about: ExpectedRun["detail"] = { ...describeCommand(command), categories: decision.categories.join(",") };
  const who = { sandbox: member.record, actor: caller };
  const run: ExpectedRun = { id, kind, streams: streams === true, ...who, detail: about, isWritten: false };
  if (decision.verdict === "deny") {
    await runs.note(run, { type: "execution.denied", data: { ...about, rule: decision.rule } });
    throw denied(decision);
  }
  if (decision.verdict === "ask") {
    about.approval_id = await askCommand(approvals, member.record, command, decision, signal).catch(
      async (error: unknown) => {
        const approval = error instanceof AppError ? error.details?.approval_id : undefined;
        const approval_id = String(approval ?? "") || null;
        await runs.note(run, { type: "execution.denied", data: { ...about, rule: decision.rule, approval_id } });
        throw error;
      },
    );
  }
  // Somebody sits at a terminal: it may be open for a day, and does nothing for most of it.
  const inTurn = <R>(work: () => Promise<R>) =>
    kind === "terminal"
      ? work()
      : queue.with({ id, caller, kind, sandboxId: member.record.id, priority, signal }, work);
  return inTurn(async () => {
    if (run.streams) await runs.note(run, { type: "execution.started", data: about });
    using _expected = runs.expect(run);
    const result = await act().catch(async (error) => {
      const error_code = error instanceof AppError ? error.code : "internal";
      if (!run.isWritten) await runs.note(run, { type: "execution.failed", data: { ...about, error_code } });
      throw error;
    });
    if (!run.isWritten) await runs.note(run, doneOf(kind, result, about));
    return result;
  });
}

/** For the agent that asked: nothing is broken, and nothing to try again. */
export function denied({ rule, categories }: CommandDecision): AppError {
  const why = rule === null ? "no rule allows it" : `the rule '${rule}' forbids it`;
  return refused({ kind: "command", what: "this command", why, rule, details: { categories: [...categories] } });
}

/** The command's hash alone: the command may hold what the log must not. */
function describeCommand(command: Command): ExpectedRun["detail"] {
  const { what } = command;
  const text = "argv" in what ? JSON.stringify(what.argv) : textOf(command);
  return { kind: kindOf(command), command_sha256: hash("sha256", text) };
}

/** A command that was done without a run: a context that was made. */
function doneOf(kind: CommandKind, result: object, about: ExpectedRun["detail"]): RunEvent {
  if (kind !== "context") return { type: "execution.completed", data: about };
  const { id, language } = result as ContextInfo;
  return { type: "context.created", data: { ...about, id, language } };
}
