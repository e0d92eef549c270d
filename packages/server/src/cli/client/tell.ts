import type { RunIo } from "../run.ts";
import { paint, visible, visibleJson } from "../terminal.ts";

export function tellJson(io: RunIo, value: unknown): number {
  io.stdout.write(`${visibleJson(value)}\n`);
  return 0;
}

export function tellLine(io: RunIo, text: string): number {
  io.stdout.write(`${visible(text)}\n`);
  return 0;
}

/** Prints rows in columns under their headings. Cells may hold untrusted text. */
export function tellTable(io: RunIo, headings: readonly string[], rows: readonly (readonly unknown[])[]): number {
  const shown = rows.map((row) => row.map((cell) => visible(cell === null || cell === undefined ? "-" : String(cell))));
  const widths = headings.map((heading, at) => Math.max(heading.length, ...shown.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells.map((cell, at) => (at === cells.length - 1 ? cell : cell.padEnd(widths[at] ?? 0))).join("  ");
  io.stdout.write(`${paint(io.terminal, "dim", line(headings))}\n`);
  for (const row of shown) io.stdout.write(`${line(row)}\n`);
  return 0;
}

export function tellTime(iso: string): string {
  return iso.replace("T", " ").slice(0, 19);
}
