import { type ExportFormat, exportFormats } from "../audit-export/export-lines.ts";
import type { AuditQuery, NotedRow } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import { defined } from "../lib/defined.ts";
import { formatOptions, type OptionSpecs, type ParsedOptions, parseOptions } from "./options.ts";
import { type ReportPlan, readReport, reportOptionSpecs } from "./report-options.ts";

const actions = ["verify", "list", "export"] as const;
type Action = (typeof actions)[number];

export const auditOptionSpecs = {
  file: { type: "string", value: "FILE", help: "read this copy of a caisson.db instead of the daemon's" },
  key: {
    type: "string",
    multiple: true,
    value: "FILE",
    help: "verify: file of the signing key (default: the daemon's)",
  },
  expect: {
    type: "string",
    multiple: true,
    value: "NAMESPACE:N:HASH",
    help: "verify: check that row N of the namespace has this hash, which an earlier verify printed",
  },
  format: { type: "string", value: "NAME", help: "export: jsonl or ocsf (default: jsonl)" },
  limit: { type: "string", value: "N", help: "list: maximum number of rows (default: 100)" },
  sandbox: { type: "string", value: "ID", help: "list, export: only rows about this sandbox" },
  actor: { type: "string", value: "ID", help: "list, export: only actions of this API key" },
  type: { type: "string", value: "TYPE", help: "list, export: only rows of this type, such as execution.completed" },
  run: { type: "string", value: "RUN", help: "list, export: only rows about this run" },
  text: { type: "string", value: "TEXT", help: "list, export: only rows with this text in type, actor or detail" },
  since: { type: "string", value: "TIME", help: "list, export: only rows since this time (ISO 8601)" },
  until: { type: "string", value: "TIME", help: "list, export: only rows before this time" },
  namespace: { type: "string", short: "n", value: "NAME", help: "only rows of this namespace" },
  "all-namespaces": {
    type: "boolean",
    help: "rows of all namespaces, which is the default for files (administrators only)",
  },
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
  throw new AppError("invalid", `unknown ${what} '${given}'`, {
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
    throw new AppError("invalid", `--expect: '${text.slice(0, 120)}' is not NAMESPACE:N:HASH`);
  return { namespace, sequence: Number(sequence), hash };
}

/** Undefined when help was asked for. */
export function parseAudit(args: readonly string[]): AuditPlan | undefined {
  const options = parseOptions(args, auditOptionSpecs);
  if (options.flag("help")) return undefined;
  const [action = "list", extra] = options.rest;
  if (extra !== undefined) throw new AppError("invalid", `unexpected argument '${extra}'`);
  const limit = Number(options.text("limit") ?? 100);
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new AppError("invalid", `--limit: '${options.text("limit")}' is not a number of rows`);
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

Reads the audit log of a daemon (which need not run), or of a copy of its database.

  list    print the newest rows (default)
  export  print all rows, oldest first, one per line
  verify  check every chain for changed, inserted and removed rows; exits with 1 if it finds any

Each namespace has a chain of its own. Keep the last lines that verify prints in another place: with them, --expect detects
an older log in place of this one.

With CAISSON_URL, an operator's CAISSON_API_KEY, and no --file, asks that daemon instead: it returns the rows of the
key's namespace, and checks the chain itself.

${formatOptions(auditOptionSpecs)}
`;
}
