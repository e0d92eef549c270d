import { hash } from "node:crypto";
import type { Approvals } from "../../core/approval.ts";
import { type Command, type CommandKind, kindOf, textOf } from "../../core/command.ts";
import type { CommandDecision, CommandPolicy } from "../../core/command-policy.ts";
import type { ContextInfo } from "../../core/context.ts";
import { AppError } from "../../core/errors.ts";
import type { JobOptions } from "../../core/fleet.ts";
import type { Caller } from "../../core/principal.ts";
import { refused } from "../../core/refusal.ts";
import { askCommand } from "./ask-command.ts";
import { decideCommand } from "./decide-command.ts";
import type { Member } from "./member.ts";
import type { JobQueue } from "./queue.ts";
import type { ExpectedRun, RunBook } from "./run-book.ts";

export interface JobParts {
  queue: JobQueue;
  runs: RunBook;
  policy: CommandPolicy;
  approvals: Approvals;
}

type Detail = Record<string, string | number | boolean | null>;

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
  const about: Detail = { ...describeCommand(command), categories: decision.categories.join(",") };
  const run: ExpectedRun = { id, kind, sandbox: member.record, actor: caller, detail: about, isWritten: false };
  if (decision.verdict === "deny") {
    await runs.note(run, "execution.denied", { rule: decision.rule });
    throw denied(decision);
  }
  if (decision.verdict === "ask") {
    about.approval_id = await askCommand(approvals, member.record, command, decision, signal).catch(
      async (error: unknown) => {
        const approval = error instanceof AppError ? error.details?.approval_id : undefined;
        const approval_id = String(approval ?? "") || null;
        await runs.note(run, "execution.denied", { rule: decision.rule, approval_id });
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
    if (streams === true) await runs.note(run, "execution.started", {});
    using _expected = runs.expect(run);
    const result = await act().catch(async (error) => {
      const error_code = error instanceof AppError ? error.code : "internal";
      if (!run.isWritten) await runs.note(run, "execution.failed", { error_code });
      throw error;
    });
    if (!run.isWritten) await runs.note(run, ...describeDone(kind, result));
    return result;
  });
}

/** For the agent that asked: nothing is broken, and nothing to try again. */
export function denied({ rule, categories }: CommandDecision): AppError {
  const why = rule === null ? "no rule allows it" : `the rule '${rule}' forbids it`;
  return refused({ kind: "command", what: "this command", why, rule, details: { categories: [...categories] } });
}

/** The command's hash alone: the command may hold what the log must not. */
function describeCommand(command: Command): Detail {
  const { what } = command;
  const text = "argv" in what ? JSON.stringify(what.argv) : textOf(command);
  return { kind: kindOf(command), command_sha256: hash("sha256", text) };
}

/** A command that was done without a run: a context that was made. */
function describeDone(kind: CommandKind, result: object): [type: string, detail: Detail] {
  if (kind !== "context") return ["execution.completed", {}];
  const { id, language } = result as ContextInfo;
  return ["context.created", { id, language }];
}
