import { join } from "node:path";
import { toJson } from "../audit-export/audit-json.ts";
import { exportLines } from "../audit-export/export-lines.ts";
import { openAuditFile, verifyAuditFile } from "../compose/audit-file.ts";
import type { Configuration } from "../config/config.ts";
import type { AuditRow } from "../core/audit.ts";
import { defined } from "../lib/defined.ts";
import { auditLimits } from "../store/limits.ts";
import { layoutOf } from "../supervision/layout.ts";
import type { AuditSource } from "./audit.ts";
import type { AuditPlan } from "./audit-options.ts";

/** The log of the data folder's daemon, whether it runs or not, or a copy. */
export function auditOfFiles({ home, settings }: Configuration, plan: AuditPlan): AuditSource {
  const { keyFiles, file, expected, format, limit } = plan;
  const path = file ?? join(layoutOf(home).daemon, settings.sqlite_path);
  const filter = { ...plan.filter, ...defined({ namespace: plan.namespace }) };
  return {
    verify: () =>
      verifyAuditFile({
        ...{ path, keyFiles, expected, isCopy: file !== undefined },
        ...defined({ namespace: plan.namespace }),
      }),
    list: async () => {
      await using reader = await openAuditFile(path);
      const rows: AuditRow[] = [];
      while (rows.length < limit) {
        const most = Math.min(auditLimits.searched.max, limit - rows.length);
        const page = await reader.search({ ...filter, limit: most, ...defined({ before: rows.at(-1)?.position }) });
        rows.push(...page);
        if (page.length < most) break;
      }
      return rows.map(toJson);
    },
    lines: async function* () {
      await using reader = await openAuditFile(path);
      yield* exportLines(reader, filter, format);
    },
  };
}
