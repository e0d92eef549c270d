import type { Audit, AuditQuery } from "../core/audit.ts";
import { auditLimits } from "../store/limits.ts";
import { toJson } from "./audit-json.ts";
import { toOcsf } from "./ocsf.ts";

export const exportFormats = ["jsonl", "ocsf"] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Every row that matches, oldest first, a line each; a page of them in memory at a time. */
export async function* exportLines(
  audit: Pick<Audit, "search">,
  query: Omit<AuditQuery, "after" | "before" | "limit">,
  format: ExportFormat,
): AsyncGenerator<string, void> {
  const shown = format === "ocsf" ? toOcsf : toJson;
  for (let after = 0; ; ) {
    const rows = await audit.search({ ...query, after, limit: auditLimits.exportedAtOnce });
    for (const row of rows) yield `${JSON.stringify(shown(row))}\n`;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.position;
  }
}
