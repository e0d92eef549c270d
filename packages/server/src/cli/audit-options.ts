import { type ExportFormat, exportFormats } from "../audit-export/export-lines.ts";
import type { AuditQuery, NotedRow } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import { defined } from "../lib/defined.ts";
import { formatOptions, type OptionSpecs, type ParsedOptions, parseOptions } from "./options.ts";
import { type ReportPlan, readReport, reportOptionSpecs } from "./report-options.ts";

const actions = ["verify", "list", "export"] as const;
type Action = (typeof actions)[number];

export const auditOptionSpecs = {
  file: { type: "string", value: "FILE", help: "another store than the daemon's: a copy of its caisson.db" },
  key: { type: "string", multiple: true, value: "FILE", help: "verify: the key that signed, when it lies elsewhere" },
  expect: {
    type: "string",
    multiple: true,
    value: "NAMESPACE:N:HASH",
    help: "verify: that row N of a namespace has this hash, as verify printed it before",
  },
  format: { type: "string", value: "NAME", help: "export: jsonl, or ocsf" },
  limit: { type: "string", value: "N", help: "list: so many rows, the newest (100)" },
  sandbox: { type: "string", value: "ID", help: "list, export: of this sandbox" },
  actor: { type: "string", value: "ID", help: "list, export: by this key" },
  type: { type: "string", value: "TYPE", help: "list, export: of this type, as execution.completed" },
  run: { type: "string", value: "RUN", help: "list, export: of this run" },
  text: { type: "string", value: "TEXT", help: "list, export: with this text in type, actor or detail" },
  since: { type: "string", value: "TIME", help: "list, export: from this time on (ISO 8601)" },
  until: { type: "string", value: "TIME", help: "list, export: before this time" },
  namespace: { type: "string", short: "n", value: "NAME", help: "of this namespace alone" },
  "all-namespaces": { type: "boolean", help: "of all, as files tell it anyhow; for administrators" },
  ...reportOptionSpecs,
} as const satisfies OptionSpecs;

export interface AuditPlan extends ReportPlan {
  action: Action;
  file?: string;
  keyFiles: string[];
  expected: NotedRow[];
  format: ExportFormat;
  limit: number;
  namespace?: string;
  allNamespaces: boolean;
  filter: Pick<AuditQuery, "sandboxId" | "actor" | "type" | "runId" | "text" | "fromMs" | "toMs">;
}

function oneOf<T extends string>(known: readonly T[], given: string, what: string): T {
  const found = known.find((name) => name === given);
  if (found !== undefined) return found;
  throw new AppError("invalid", `there is no ${what} '${given}'`, {
    hint: known.join(", "),
  });
}

function timeOf(options: ParsedOptions, name: "since" | "until"): number | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs)) throw new AppError("invalid", `--${name}: '${text}' is not a time`);
  return timeMs;
}

function notedRow(text: string): NotedRow {
  const [, namespace, sequence, hash] = /^(.+):(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (namespace === undefined || sequence === undefined || hash === undefined)
    throw new AppError("invalid", "--expect takes a row and its hash, as verify prints them: NAMESPACE:N:HASH");
  return { namespace, sequence: Number(sequence), hash };
}

/** Undefined when help was asked for. */
export function parseAudit(args: readonly string[]): AuditPlan | undefined {
  const options = parseOptions(args, auditOptionSpecs);
  if (options.flag("help")) return undefined;
  const [action = "list", extra] = options.rest;
  if (extra !== undefined) throw new AppError("invalid", `'${extra}' is not expected here`);
  const limit = Number(options.text("limit") ?? 100);
  if (!Number.isSafeInteger(limit) || limit < 1) throw new AppError("invalid", "--limit takes a number of rows");
  return {
    ...readReport(options),
    action: oneOf(actions, action, "action"),
    keyFiles: options.texts("key"),
    expected: options.texts("expect").map(notedRow),
    format: oneOf(exportFormats, options.text("format") ?? "jsonl", "format"),
    limit,
    allNamespaces: options.flag("all-namespaces"),
    filter: defined({
      sandboxId: options.text("sandbox"),
      actor: options.text("actor"),
      type: options.text("type"),
      runId: options.text("run"),
      text: options.text("text"),
      fromMs: timeOf(options, "since"),
      toMs: timeOf(options, "until"),
    }),
    ...defined({
      namespace: options.text("namespace"),
      file: options.text("file"),
    }),
  };
}

export function auditHelpText(): string {
  return `usage: caisson audit [verify|list|export] [OPTIONS]

Reads the audit log of a daemon, whether it runs or not, or of a copy. verify walks every chain and says what was
changed, taken out or cut off; it ends with 1 when something was. Each namespace has a chain of its own. Note the last
lines that verify prints elsewhere: with --expect nobody can put an older log in its place. list, the default, prints the newest rows, export all, oldest first, a line each.

With CAISSON_URL (and CAISSON_API_KEY, of an operator) and without --file it asks that daemon instead: for the rows of the key's
namespace, and for its own word on the chain.

${formatOptions(auditOptionSpecs)}
`;
}
