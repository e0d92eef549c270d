import type { AuditLog, AuditRow } from "@caisson/sdk";
import type { Configuration } from "../../config/config.ts";
import type { Variables } from "../../config/env.ts";
import { AppError } from "../../core/errors.ts";
import { defined } from "../../lib/defined.ts";
import { auditLimits } from "../../store/limits.ts";
import type { AuditSource } from "../audit.ts";
import type { AuditPlan } from "../audit-options.ts";
import { connect } from "./connect.ts";

/** The log of a daemon elsewhere, as it tells it. */
export async function auditOfDaemon(
  configuration: Configuration,
  variables: Variables,
  plan: AuditPlan,
): Promise<AuditSource> {
  const { keyFiles, expected, format, limit, namespace, allNamespaces } = plan;
  if (keyFiles.length > 0 || expected.length > 0)
    throw new AppError("invalid", "--key and --expect apply to files only, but CAISSON_URL selects a daemon", {
      hint: "add --file FILE to verify a copy of the daemon's caisson.db",
    });
  const { audit } = await connect(configuration, variables, defined({ namespace }));
  const { sandboxId: sandbox_id, runId: run_id, fromMs, toMs, ...same } = plan.filter;
  const [from, to] = [fromMs, toMs].map((ms) => (ms === undefined ? undefined : new Date(ms).toISOString()));
  const filter = defined({ ...same, sandbox_id, run_id, from, to, all_namespaces: allNamespaces || undefined });
  return {
    verify: () => audit.verify(defined({ all_namespaces: allNamespaces || undefined })),
    list: async () => {
      const rows: AuditRow[] = [];
      while (rows.length < limit) {
        const most = Math.min(auditLimits.searched.max, limit - rows.length);
        const cursor = rows.at(-1)?.position;
        const page = await audit.search({ ...filter, limit: most, ...defined({ cursor: cursor?.toString() }) });
        rows.push(...page);
        if (page.length < most) break;
      }
      return rows;
    },
    lines: () => linesOf(audit, { ...filter, format }),
  };
}

async function* linesOf(audit: AuditLog, asked: Parameters<AuditLog["export"]>[0]): AsyncGenerator<string, void> {
  for await (const row of audit.export(asked)) yield `${JSON.stringify(row)}\n`;
}
