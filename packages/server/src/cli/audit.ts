import { join } from "node:path";
import { toJson } from "../audit/audit-json.ts";
import { exportLines } from "../audit/export-lines.ts";
import { openAuditFile, verifyAuditFile } from "../audit-file.ts";
import type { Configuration } from "../config/config.ts";
import type { AuditRow, AuditVerdict } from "../core/audit.ts";
import { auditLimits } from "../core/store-limits.ts";
import { layoutOf } from "../host/layout.ts";
import type { AuditPlan } from "./audit-options.ts";
import type { RunIo } from "./run.ts";
import { paint, visible } from "./terminal.ts";
import { writeOut } from "./write-out.ts";

/** What `verify` ends with when the log is not whole. */
const notWhole = 1;

export async function audit({ home }: Configuration, plan: AuditPlan, io: RunIo): Promise<number> {
  const path = plan.file ?? join(layoutOf(home).daemon, "caisson.db");
  if (plan.action === "verify") return await verify(path, plan, io);
  await using reader = await openAuditFile(path);
  if (plan.action === "list") {
    const rows: AuditRow[] = [];
    while (rows.length < plan.limit) {
      const before = rows.at(-1)?.sequence;
      const limit = Math.min(auditLimits.searched.max, plan.limit - rows.length);
      const page = await reader.search({ ...plan.filter, limit, ...(before === undefined ? {} : { before }) });
      rows.push(...page);
      if (page.length < limit) break;
    }
    if (plan.json) io.stdout.write(`${JSON.stringify(rows.map(toJson), null, 2)}\n`);
    else for (const row of rows.toReversed()) io.stdout.write(lineOf(row));
    return 0;
  }
  for await (const line of exportLines(reader, plan.filter, plan.format)) if (!(await writeOut(io.stdout, line))) break;
  return 0;
}

async function verify(path: string, plan: AuditPlan, io: RunIo): Promise<number> {
  const { keyFiles, file, expected } = plan;
  const isCopy = file !== undefined;
  const verdict = await verifyAuditFile({ path, keyFiles, isCopy, ...(expected === undefined ? {} : { expected }) });
  if (plan.json) io.stdout.write(`${JSON.stringify(verdict, null, 2)}\n`);
  else io.stdout.write(describe(verdict, io));
  return verdict.ok ? 0 : notWhole;
}

function describe(verdict: AuditVerdict, io: RunIo): string {
  const { ok, rows, first, last, hash, pruned, checkpoints, waiting, problems } = verdict;
  const range = rows === 0 ? "no rows" : `rows ${first} to ${last}`;
  const lines = problems.map(({ sequence, what }) => (sequence === null ? what : `row ${sequence}: ${what}`));
  return [
    ...lines.map((line) => visible(line)),
    ok
      ? paint(io.terminal, "green", "the audit log is whole")
      : paint(io.terminal, "red", "the audit log is NOT whole"),
    `${range}${pruned === 0 ? "" : `, pruned up to ${pruned}`}, ${checkpoints} signed checkpoints`,
    ...(waiting === 0 ? [] : [`${waiting} more were acknowledged and come into it when the daemon brings them there`]),
    `${last}:${hash}`,
    "",
  ].join("\n");
}

function lineOf(row: AuditRow): string {
  const at = new Date(row.atMs).toISOString().replace("T", " ").slice(0, 23);
  const where = row.sandboxId ?? "-";
  const detail = JSON.stringify(row.detail);
  return `${String(row.sequence).padStart(7)}  ${at}  ${visible(`${row.type.padEnd(20)}  ${row.actor}  ${where}  ${detail}`)}\n`;
}
