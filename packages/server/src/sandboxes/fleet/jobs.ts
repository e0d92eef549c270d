import { hash } from "node:crypto";
import type { Approvals } from "../../core/approval.ts";
import type { CommandDecision, CommandPolicy } from "../../core/command-policy.ts";
import { AppError } from "../../core/errors.ts";
import type { Job } from "../../core/fleet.ts";
import { hashesOf } from "../../core/output-hashes.ts";
import type { Caller } from "../../core/principal.ts";
import { refused } from "../../core/refusal.ts";
import { askCommand } from "./ask-command.ts";
import { decideCommand } from "./decide-command.ts";
import type { Ledger } from "./ledger.ts";
import type { Member } from "./member.ts";
import type { JobQueue } from "./queue.ts";

export interface JobParts {
  queue: JobQueue;
  ledger: Ledger;
  policy: CommandPolicy;
  approvals: Approvals;
}

type Detail = Record<string, string | number | boolean | null>;

/** A job in its turn, with what became of it in the log before its caller hears of it. */
export async function runJob<T extends object>(
  { queue, ledger, policy, approvals }: JobParts,
  caller: Caller,
  member: Member,
  job: Job,
  act: () => Promise<T>,
): Promise<T> {
  const { id, kind, priority, signal } = job;
  const decision = decideCommand(policy, job);
  const about: Detail = { ...describeJob(job), categories: decision.categories.join(",") };
  const note = (type: string, detail: Detail) => ledger.note(member.record, { type, actor: caller, runId: id, detail });
  if (decision.verdict === "deny") {
    await note("execution.denied", { ...about, rule: decision.rule });
    throw denied(decision);
  }
  if (decision.verdict === "ask") {
    about.approval_id = await askCommand(approvals, member.record, job, decision).catch(async (error: unknown) => {
      const approval = error instanceof AppError ? error.details?.approval_id : undefined;
      await note("execution.denied", { ...about, rule: decision.rule, approval_id: String(approval ?? "") || null });
      throw error;
    });
  }
  // Somebody sits at a terminal: it may be open for a day, and does nothing for most of it.
  const inTurn = <R>(work: () => Promise<R>) =>
    kind === "terminal"
      ? work()
      : queue.with({ id, caller, kind, sandboxId: member.record.id, priority, signal }, work);
  return inTurn(async () => {
    if (job.streams === true) await note("execution.started", about);
    const result = await act().catch(async (error) => {
      await note("execution.failed", { ...about, error_code: error instanceof AppError ? error.code : "internal" });
      throw error;
    });
    const type = job.kind === "process" ? "process.started" : "execution.completed";
    await note(type, { ...about, ...describeResult(result) });
    return result;
  });
}

/** For the agent that asked: nothing is broken, and nothing to try again. */
export function denied({ rule, categories }: CommandDecision): AppError {
  const why = rule === null ? "no rule allows it" : `the rule '${rule}' forbids it`;
  return refused({ kind: "command", what: "this command", why, rule, details: { categories: [...categories] } });
}

/** Of the command its hash alone: it may hold what the log must not. */
function describeJob({ kind, command }: Job): Detail {
  const text = typeof command === "string" ? command : JSON.stringify(command);
  return { kind, command_sha256: hash("sha256", text) };
}

const told = ["id", "exit_code", "duration_ms", "timed_out", "oom_killed", "cpu_limit"] as const;

function describeResult(result: object): Detail {
  const rows = Object.entries(result).filter(([name]) => told.some((known) => known === name));
  const plain = rows.filter(([, value]) => value === null || ["string", "number", "boolean"].includes(typeof value));
  return { ...Object.fromEntries(plain), ...describeFiles(result), ...hashesOf(result) };
}

/** How many, and a hash of the list: paths may tell what the log must not. */
function describeFiles(result: object): Detail {
  if (!("files_changed" in result) || !Array.isArray(result.files_changed)) return {};
  const text = JSON.stringify(result.files_changed);
  return {
    files_changed: result.files_changed.length,
    files_changed_sha256: hash("sha256", text),
  };
}
