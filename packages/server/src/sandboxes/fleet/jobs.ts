import { createHash } from "node:crypto";
import { AppError } from "../../core/errors.ts";
import type { Job } from "../../core/fleet.ts";
import type { Caller } from "../../core/principal.ts";
import type { Ledger } from "./ledger.ts";
import type { Member } from "./member.ts";
import type { JobQueue } from "./queue.ts";

export interface JobParts {
  queue: JobQueue;
  ledger: Ledger;
}

type Detail = Record<string, string | number | boolean | null>;

/** A job in its turn, with what became of it in the log before its caller hears of it. */
export async function runJob<T extends object>(
  { queue, ledger }: JobParts,
  caller: Caller,
  member: Member,
  job: Job,
  act: () => Promise<T>,
): Promise<T> {
  const { priority, signal } = job;
  const asked = {
    namespace: member.record.namespace,
    ...(priority === undefined ? {} : { priority }),
    ...(signal === undefined ? {} : { signal }),
  };
  const about = describeJob(job);
  const note = (type: string, detail: Detail) => ledger.note(member.record, { type, actor: caller, detail });
  return queue.with(asked, async () => {
    if (job.streams === true) await note("execution.started", about);
    try {
      const result = await act();
      await note(job.kind === "process" ? "process.started" : "execution.completed", {
        ...about,
        ...describeResult(result),
      });
      return result;
    } catch (error) {
      await note("execution.failed", { ...about, error_code: error instanceof AppError ? error.code : "internal" });
      throw error;
    }
  });
}

/** Of the command its hash alone: it may hold what the log must not. */
function describeJob({ kind, command }: Job): Detail {
  const text = typeof command === "string" ? command : JSON.stringify(command);
  return { kind, command_sha256: createHash("sha256").update(text).digest("hex") };
}

const told = ["id", "exit_code", "duration_ms", "timed_out", "oom_killed", "cpu_limit"] as const;

function describeResult(result: object): Detail {
  const rows = Object.entries(result).filter(([name]) => told.some((known) => known === name));
  return Object.fromEntries(
    rows.filter(([, value]) => value === null || ["string", "number", "boolean"].includes(typeof value)),
  );
}
