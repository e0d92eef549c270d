import type { EngineName } from "../packages/server/src/core/engine.ts";
import type { Summary } from "./stats.ts";

export type Unit = "ms" | "µs" | "MB/s" | "MB" | "x" | "%" | "/s";

/** `ratio`: ours over the bare thing. `value`: ours as it is. `p99`: its slow end. */
export interface Target {
  of: "ratio" | "value" | "p99";
  atMost?: number;
  atLeast?: number;
}

/** One row of the table: what was measured, against what, and what was promised. */
export interface Line {
  benchmark: string;
  engine: EngineName | "host";
  what: string;
  unit: Unit;
  ours: Summary;
  bare?: Summary;
  bareWhat?: string;
  target?: Target;
  notes?: string[];
}

export type Verdict = "met" | "MISSED" | "info";

export function ratioOf(line: Line): number | undefined {
  return line.bare === undefined ? undefined : line.ours.median / line.bare.median;
}

export function verdictOf(line: Line): Verdict {
  const { target } = line;
  if (target === undefined) return "info";
  const measured = { ratio: ratioOf(line), value: line.ours.median, p99: line.ours.p99 }[target.of];
  if (measured === undefined) throw new Error(`${line.benchmark}: a ratio needs a bare measurement`);
  const met = measured <= (target.atMost ?? Infinity) && measured >= (target.atLeast ?? -Infinity);
  return met ? "met" : "MISSED";
}

export function single(value: number): Summary {
  return { median: value, p95: value, p99: value, best: value, count: 1 };
}
