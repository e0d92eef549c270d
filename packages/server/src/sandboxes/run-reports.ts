import type { Approval, Approvals } from "../core/approval.ts";
import type { Audit, AuditRow } from "../core/audit.ts";
import type { AttemptRecords } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Caller } from "../core/principal.ts";
import type { RunRecord, RunRecords } from "../core/run-record.ts";
import { type RunArtifact, type RunAttempts, type RunReport, reportLimits } from "../core/run-report.ts";
import { isAllowed } from "../core/scope.ts";
import { defined } from "../lib/defined.ts";
import { checkOwn } from "./check-own.ts";

export interface RunReportParts {
  fleet: Pick<Fleet<unknown>, "get" | "waiting">;
  audit: Pick<Audit, "making" | "search">;
  runs: Pick<RunRecords, "get">;
  approvals: Pick<Approvals, "get" | "list">;
  attempts: Pick<AttemptRecords, "list">;
}

interface Page<T> {
  found: T[];
  isCut: boolean;
}

const starts = ["execution.started", "process.started"];
const ends = ["execution.completed", "execution.failed", "execution.timeout"];
const output = "output/";

/** Finds what is known of a run by its id. */
export class RunReports {
  readonly #parts: RunReportParts;

  constructor(parts: RunReportParts) {
    this.#parts = parts;
  }

  /** Refuses, as not found, a run of another namespace and a run in a sandbox that the caller may not see (S30). */
  async find(caller: Caller, runId: string): Promise<RunReport> {
    const { fleet, audit, runs, approvals } = this.#parts;
    const { principal } = caller;
    const { namespace } = principal;
    const record = await runs.get(namespace, runId);
    const rows = cut(
      await audit.search({ namespace, runId, after: 0, limit: reportLimits.rows + 1 }),
      reportLimits.rows,
    );
    const asked = await approvals.list(caller, { runId, limit: reportLimits.approvals + 1 });
    const job = fleet.waiting(caller).find(({ id }) => id === runId);
    const sandboxId = record?.sandbox_id ?? job?.sandboxId ?? sandboxOf(rows.found) ?? sandboxOf(asked);
    if (sandboxId === undefined) throw unknownRun(runId);
    await checkOwn({ fleet, audit }, caller, sandboxId).catch((error: unknown) => {
      throw isNotFound(error) ? unknownRun(runId) : error;
    });
    const answers = cut([...asked, ...(await this.#answers(caller, rows.found, asked))], reportLimits.approvals);
    const last = rows.isCut ? await audit.search({ namespace, runId, before: Number.MAX_SAFE_INTEGER }) : rows.found;
    const egress = await this.#egress(namespace, sandboxId, timesOf(record, rows.found, last));
    const isOperator = isAllowed(principal, "operate");
    return {
      ...{ runId, sandboxId, job, record },
      approvals: answers.found,
      rows: rows.found,
      readable: rows.found.filter(({ actor }) => isOperator || actor === principal.id),
      egress: egress.found,
      artifacts: artifactsOf(record),
      truncated: [
        ...(answers.isCut ? (["approvals"] as const) : []),
        ...(rows.isCut ? (["audit", "events"] as const) : []),
        ...(egress.isCut ? (["egress"] as const) : []),
        ...(record?.truncated === true ? (["artifacts"] as const) : []),
      ],
    };
  }

  /** Approvals that another run asked for and that answered this one. */
  async #answers(caller: Caller, rows: readonly AuditRow[], asked: readonly Approval[]): Promise<Approval[]> {
    const known = new Set(asked.map(({ id }) => id));
    const named = new Set(rows.map(({ detail }) => detail.approval_id).filter((id) => typeof id === "string"));
    const others = [...named].filter((id) => !known.has(id)).slice(0, reportLimits.approvals);
    const found = await Promise.all(others.map((id) => this.#parts.approvals.get(caller, id).catch(unlessGone)));
    return found.filter((one) => one !== undefined);
  }

  async #egress(
    namespace: string,
    sandboxId: string,
    { fromMs, toMs }: Omit<RunAttempts, "attempts">,
  ): Promise<{ found: RunAttempts; isCut: boolean }> {
    if (fromMs === null) return { found: { fromMs, toMs, attempts: [] }, isCut: false };
    const meanwhile = defined({ fromMs, toMs: toMs ?? undefined });
    const limit = reportLimits.attempts + 1;
    const newest = cut(
      await this.#parts.attempts.list({ namespace, sandboxId, ...meanwhile, limit }),
      reportLimits.attempts,
    );
    return { found: { fromMs, toMs, attempts: newest.found.reverse() }, isCut: newest.isCut };
  }
}

function cut<T>(all: readonly T[], most: number): Page<T> {
  return { found: all.slice(0, most), isCut: all.length > most };
}

function sandboxOf(all: readonly { sandboxId: string | null }[]): string | undefined {
  return all.find(({ sandboxId }) => sandboxId !== null)?.sandboxId ?? undefined;
}

const isNotFound = (error: unknown) => error instanceof AppError && error.code === "not_found";

function unlessGone(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function unknownRun(runId: string): AppError {
  const hint = "caisson runs lists recorded runs; a run that streams is known from its start, others from their end";
  return new AppError("not_found", `unknown run ${runId}`, { hint });
}

/** The entry about the end is written when the run has ended; a record without it has a start and a duration. */
function timesOf(
  record: RunRecord | undefined,
  first: readonly AuditRow[],
  last: readonly AuditRow[],
): Omit<RunAttempts, "attempts"> {
  const started = startOf(first.find(({ type }) => starts.includes(type)));
  const ended = last.find(({ type }) => ends.includes(type))?.atMs ?? null;
  if (record === undefined) return { fromMs: started, toMs: started === null ? null : ended };
  const fromMs = Date.parse(record.started_at);
  return { fromMs, toMs: ended ?? fromMs + Math.ceil(record.duration_ms) };
}

/** The entry about a background process is written when it runs already. */
function startOf(row: AuditRow | undefined): number | null {
  const { started_at: startedAt } = row?.detail ?? {};
  return typeof startedAt === "string" ? Date.parse(startedAt) : (row?.atMs ?? null);
}

function artifactsOf(record: RunRecord | undefined): RunArtifact[] {
  const left = record?.files_changed.filter(({ path, action }) => path.startsWith(output) && action !== "deleted");
  return (left ?? []).map(({ path, size_bytes, sha256 }) => ({ path: path.slice(output.length), size_bytes, sha256 }));
}
