import { type Line, ratioOf, type Target, type Unit, verdictOf } from "./line.ts";

const headings = [
  "line",
  "engine",
  "ours p50",
  "p95",
  "p99",
  "bare p50",
  "p95",
  "ratio",
  "of best",
  "target",
  "verdict",
  "n",
  "others",
] as const;

export function showNumber(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

function showTarget(target: Target | undefined, unit: Unit): string {
  if (target === undefined) return "";
  const suffix = target.of === "ratio" || unit === "x" ? "x" : unit;
  return target.atMost === undefined ? `≥ ${target.atLeast} ${suffix}` : `≤ ${target.atMost} ${suffix}`;
}

function cells(row: MeasuredLine): string[] {
  const { line } = row;
  const show = (value: number | undefined) => (value === undefined ? "" : `${showNumber(value)} ${line.unit}`);
  const ratio = ratioOf(line);
  return [
    `${line.benchmark}: ${line.what}`,
    line.engine,
    show(line.ours.median),
    line.ours.count > 1 ? showNumber(line.ours.p95) : "",
    line.ours.count > 20 ? showNumber(line.ours.p99) : "",
    show(line.bare?.median),
    line.bare === undefined || line.bare.count < 2 ? "" : showNumber(line.bare.p95),
    ratio === undefined ? "" : `${ratio.toFixed(2)} x`,
    line.bare === undefined ? "" : `${(line.ours.best / line.bare.best).toFixed(2)} x`,
    showTarget(line.target, line.unit),
    verdictOf(line),
    String(line.ours.count),
    `${Math.round(row.othersLoad * 100)} %`,
  ];
}

/** A line, and the share of the machine's CPUs that others used around it: past 10 % it is disturbed. */
export interface MeasuredLine {
  line: Line;
  othersLoad: number;
}

function render(rows: readonly (readonly string[])[], edge: string, between: string): string[] {
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? "")].length)));
  return rows.map((row) => edge + row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(between) + edge);
}

export function textTable(lines: readonly MeasuredLine[]): string {
  return render([headings, ...lines.map(cells)], "", "  ")
    .map((row) => row.trimEnd())
    .join("\n");
}

export function markdownTable(lines: readonly MeasuredLine[]): string {
  const rule = headings.map(() => "---");
  return render([headings, rule, ...lines.map(cells)], "|", "|").join("\n");
}

export function notesOf(lines: readonly MeasuredLine[]): string[] {
  return lines.flatMap(({ line }) => {
    const against = line.bareWhat === undefined ? [] : [`bare: ${line.bareWhat}`];
    return [...against, ...(line.notes ?? [])].map(
      (note) => `${line.benchmark} (${line.engine}, ${line.what}): ${note}`,
    );
  });
}
