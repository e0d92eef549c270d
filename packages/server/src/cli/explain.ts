import { explainRun, type LimitNames, type RunExplained } from "../core/run-end.ts";
import { paint, type Terminal } from "./terminal.ts";

/** Options of `caisson run` and `caisson shell`. */
export const runLimitNames: LimitNames = {
  time: "--timeout",
  cpu_time: "--cpu-time",
  memory: "--memory",
  output: "--max-output",
  allow: (rule) => `--allow-domain ${rule}`,
};

/** Prints on standard error which limit ended a run, and what the network refused. */
export function explain(
  io: { stderr: NodeJS.WriteStream; terminal: Terminal },
  result: RunExplained,
  names: LimitNames = runLimitNames,
): void {
  const label = paint(io.terminal, "yellow", "caisson:");
  for (const sentence of explainRun(result, names)) io.stderr.write(`${label} ${sentence}\n`);
}
