import type { Caisson } from "../app.ts";
import type { Configuration } from "../config/config.ts";
import type { Check, CheckState, Diagnosis } from "../core/diagnosis.ts";
import type { EngineProbe } from "../core/engine.ts";
import { certificateChecks } from "./certificate-check.ts";
import { exitCodes } from "./exit-codes.ts";
import { formatOptions } from "./options.ts";
import { type ReportPlan, reportOptionSpecs } from "./report-options.ts";
import type { RunIo } from "./run.ts";
import { paint, visible } from "./terminal.ts";

const marks: Record<CheckState, ["green" | "yellow" | "red", string]> = {
  ok: ["green", "ok  "],
  warning: ["yellow", "warn"],
  failed: ["red", "fail"],
};

function engineChecks(diagnosis: Diagnosis): Check[] {
  return diagnosis.engines.map((probe) => ({
    name: `engine ${probe.engine}`,
    state: probe.usable ? "ok" : "warning",
    detail: probe.usable ? describeEngine(probe, diagnosis.chosen) : probe.detail,
    ...(probe.hint === undefined ? {} : { hint: probe.hint }),
  }));
}

function describeEngine({ engine, detail, runtimePath }: EngineProbe, chosen: string | null): string {
  return `${detail} (${runtimePath})${engine === chosen ? ", chosen by auto" : ""}`;
}

export function doctorHelpText(): string {
  return `usage: caisson doctor [OPTIONS]\n\nRuns each engine once and checks what this machine supports.\n\n${formatOptions(reportOptionSpecs)}\n`;
}

export async function doctor(
  caisson: Caisson,
  configuration: Configuration,
  plan: ReportPlan,
  io: RunIo,
): Promise<number> {
  const found = await caisson.diagnose();
  const diagnosis = { ...found, checks: [...found.checks, ...(await certificateChecks(configuration))] };
  const failed = diagnosis.chosen === null;
  if (plan.json) {
    io.stdout.write(`${JSON.stringify(diagnosis, null, 2)}\n`);
    return failed ? exitCodes.failed : 0;
  }
  const checks = [...engineChecks(diagnosis), ...diagnosis.checks];
  const width = Math.max(...checks.map((check) => check.name.length)) + 2;
  for (const check of checks) {
    const [style, mark] = marks[check.state];
    io.stdout.write(`${paint(io.terminal, style, mark)}  ${check.name.padEnd(width)}${visible(check.detail)}\n`);
    if (check.hint !== undefined) io.stdout.write(`      ${" ".repeat(width)}${visible(check.hint)}\n`);
  }
  io.stdout.write(failed ? "\nNo engine works on this machine: no sandbox can start.\n" : "\nReady.\n");
  return failed ? exitCodes.failed : 0;
}
