import type { RunReport } from "@caisson/sdk";
import type { RunIo } from "../run.ts";
import { paint, visible } from "../terminal.ts";
import { tellJson, tellTable, tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";

const show: Verb = {
  summary: "show one run: its record, approvals, audit entries, connection attempts and artifacts",
  usage: "RUN",
  about:
    "RUN is the run_id of a result, of caisson runs, of an approval or of an audit entry. Connections do not name the run that\n" +
    "made them: the list has the attempts in its sandbox while it ran, those of other runs at that time included.",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const found = await caisson.runs.get(words[0] ?? "");
    return json ? tellJson(io, found) : tellRun(io, found);
  },
};

function tellRun(io: RunIo, run: RunReport): number {
  const { record, egress } = run;
  const fields: [string, unknown][] = [
    ["run", run.run_id],
    ["sandbox", run.sandbox_id],
    ["queue", run.job === null ? null : `place ${run.job.position}`],
    ["started", record === null ? egress.from && tellTime(egress.from) : tellTime(record.started_at)],
    ["outcome", record === null ? "no record: it has not ended, or its record is not kept" : outcomeOf(record)],
    ["took", record === null ? null : `${record.duration_ms} ms, ${record.cpu_ms} ms of CPU time`],
  ];
  for (const [name, value] of fields)
    if (value !== null)
      io.stdout.write(`${paint(io.terminal, "dim", `${name}:`.padEnd(10))}${visible(String(value))}\n`);
  if (record !== null) {
    quote(io, "command", record.command);
    quote(io, "stdout", record.stdout);
    quote(io, "stderr", record.stderr);
  }
  for (const list of listsOf(run)) tellList(io, run, list);
  return 0;
}

function outcomeOf({ outcome, exit_code, ended_by, error }: NonNullable<RunReport["record"]>): string {
  if (error !== null) return `${outcome}: ${error.code}: ${error.message}`;
  return `${outcome}, exit code ${exit_code}${ended_by === null ? "" : `, ended by ${ended_by}`}`;
}

interface List {
  title: string;
  /** Its name in `truncated`. */
  name: RunReport["truncated"][number];
  headings: string[];
  rows: unknown[][];
}

function listsOf({ approvals, audit, events, egress, artifacts }: RunReport): List[] {
  const actors = new Map(audit.map(({ position, actor }) => [position, actor]));
  const told = new Set(events.map(({ id }) => id));
  // An event has the position of its entry; a key below operator sees the entries of others as events only.
  const entries = [
    ...audit.map(({ position, at, type }) => ({ position, at, type })),
    ...events.flatMap(({ id, at, type }) => (id === null || actors.has(id) ? [] : { position: id, at, type })),
  ].sort((one, other) => one.position - other.position);
  return [
    {
      ...{ title: "approvals", name: "approvals", headings: ["ID", "STATE", "KIND", "DECIDED BY", "SUBJECT"] },
      rows: approvals.map((one) => [one.id, one.state, one.kind, one.decided_by, one.subject]),
    },
    {
      ...{ title: "audit entries and events", name: "audit", headings: ["ENTRY", "TIME", "TYPE", "ACTOR", "EVENT"] },
      rows: entries.map(({ position, at, type }) => [
        ...[position, tellTime(at), type, actors.get(position)],
        told.has(position) ? "yes" : "no",
      ]),
    },
    {
      ...{ title: egress.scope, name: "egress", headings: ["TIME", "VERDICT", "TO", "BY", "UP", "DOWN"] },
      rows: egress.attempts.map((one) => [
        ...[tellTime(one.started_at), one.verdict, `${one.host}:${one.port}`],
        ...[one.rule ?? one.reason, one.bytes_up, one.bytes_down],
      ]),
    },
    {
      ...{ title: "artifacts in /workspace/output", name: "artifacts", headings: ["PATH", "BYTES", "SHA256"] },
      rows: artifacts.map((one) => [one.path, one.size_bytes, one.sha256]),
    },
  ];
}

function tellList(io: RunIo, { truncated }: RunReport, { title, name, headings, rows }: List): void {
  const cut = truncated.includes(name) ? " (there may be more)" : "";
  io.stdout.write(`\n${visible(title)}${rows.length === 0 ? ": none" : ""}${cut}\n`);
  if (rows.length > 0) tellTable(io, headings, rows);
}

/** Text of the sandbox stands behind a mark on every line: it cannot pass for a field of ours. */
function quote(io: RunIo, title: string, text: string): void {
  if (text === "") return;
  io.stdout.write(`${paint(io.terminal, "dim", `${title}:`)}\n`);
  for (const line of text.replace(/\n$/, "").split("\n")) io.stdout.write(`  | ${visible(line)}\n`);
}

export const runVerbs: Record<string, Verb> = { "runs show": show };
