import type { AuditRow } from "@caisson/sdk";
import type { Configuration } from "../config/config.ts";
import { namesDaemon, type Variables } from "../config/env.ts";
import type { AuditVerdict, ChainVerdict } from "../core/audit.ts";
import type { AuditPlan } from "./audit-options.ts";
import { auditOfDaemon } from "./client/audit.ts";
import { toAppError } from "./client/connect.ts";
import { tellJson } from "./client/tell.ts";
import { auditOfFiles } from "./file-audit.ts";
import type { RunIo } from "./run.ts";
import { paint, visible } from "./terminal.ts";
import { writeOut } from "./write-out.ts";

/** Exit code of `verify` when the log is not whole. */
const notWhole = 1;

/** A log, wherever it lies. */
export interface AuditSource {
  verify(): Promise<AuditVerdict>;
  /** The newest that match, newest first. */
  list(): Promise<AuditRow[]>;
  /** All that match, oldest first. */
  lines(): AsyncIterable<string>;
}

/** Files say what they hold whether a daemon runs or not: they go first, where CAISSON_URL names no daemon elsewhere. */
export async function audit(
  configuration: Configuration,
  variables: Variables,
  plan: AuditPlan,
  io: RunIo,
): Promise<number> {
  const isElsewhere = namesDaemon(variables) && plan.file === undefined;
  try {
    const source = isElsewhere
      ? await auditOfDaemon(configuration, variables, plan)
      : auditOfFiles(configuration, plan);
    return await tell(source, plan, io);
  } catch (error) {
    throw toAppError(error);
  }
}

async function tell(source: AuditSource, { action, json }: AuditPlan, io: RunIo): Promise<number> {
  if (action === "verify") {
    const verdict = await source.verify();
    if (json) tellJson(io, verdict);
    else io.stdout.write(describe(verdict, io));
    return verdict.ok ? 0 : notWhole;
  }
  if (action === "list") {
    const rows = await source.list();
    if (json) return tellJson(io, rows);
    for (const row of rows.toReversed()) io.stdout.write(lineOf(row));
    return 0;
  }
  for await (const line of source.lines()) if (!(await writeOut(io.stdout, line))) break;
  return 0;
}

function describe(verdict: AuditVerdict, io: RunIo): string {
  const { ok, chains, problems } = verdict;
  return [
    ...problems.map((problem) => visible(lineOfProblem(problem))),
    ok
      ? paint(io.terminal, "green", "the audit log is whole")
      : paint(io.terminal, "red", "the audit log is NOT whole"),
    ...chains.map((chain) => visible(lineOfChain(chain))),
    ...chains.map(({ namespace, last, hash }) => visible(`${namespace}:${last}:${hash}`)),
    "",
  ].join("\n");
}

function lineOfProblem({ namespace, sequence, what }: AuditVerdict["problems"][number]): string {
  const where = [namespace ?? [], sequence === null ? [] : `row ${sequence}`].flat().join(" ");
  return where === "" ? what : `${where}: ${what}`;
}

function lineOfChain({ namespace, rows, first, last, pruned, checkpoints, unvouched }: ChainVerdict): string {
  const range = rows === 0 ? "no rows" : `rows ${first} to ${last}`;
  const gone = pruned === 0 ? "" : `, pruned up to ${pruned}`;
  const open = unvouched === 0 ? "" : `, the last ${unvouched} cannot be verified without the signing key`;
  return `${namespace}: ${range}${gone}, ${checkpoints} signed checkpoints${open}`;
}

function lineOf({ position, at, type, actor, sandbox_id, detail }: AuditRow): string {
  const when = at.replace("T", " ").slice(0, 23);
  const what = `${type.padEnd(20)}  ${actor}  ${sandbox_id ?? "-"}  ${JSON.stringify(detail)}`;
  return `${String(position).padStart(7)}  ${when}  ${visible(what)}\n`;
}
