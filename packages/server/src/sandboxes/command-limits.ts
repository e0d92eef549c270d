import type { Command } from "../core/command.ts";
import { AppError } from "../core/errors.ts";
import { requestLimits } from "../core/limits.ts";
import type { BackgroundPolicy } from "../core/process.ts";
import type { RunLimits } from "../core/run.ts";
import { checkRange, showSeconds } from "../core/size.ts";
import type { Sandbox } from "./sandbox.ts";

export type LimitingSandbox = Pick<Sandbox, "limits" | "runLimits" | "background">;

/** The limits of a command: those that its caller named, and the sandbox's for the rest. */
export function limitsOf(sandbox: LimitingSandbox, { as, limits: asked }: Pick<Command, "as" | "limits">): RunLimits {
  if (asked.cpus !== undefined && asked.cpus < sandbox.limits.cpus)
    throw new AppError(
      "unsupported",
      `a run cannot have fewer cores than its sandbox, which has ${sandbox.limits.cpus}`,
      { hint: "set the cores of the sandbox" },
    );
  const { memoryBytes, processes = sandbox.limits.processes } = asked;
  return { ...timesOf(sandbox, as, asked), processes, ...(memoryBytes !== undefined && { memoryBytes }) };
}

type Times = Pick<RunLimits, "timeoutMs" | "cpuTimeMs" | "outputBytes">;

function timesOf({ runLimits, background }: LimitingSandbox, as: Command["as"], asked: Partial<RunLimits>): Times {
  const usual = {
    timeoutMs: requestLimits.timeoutMs.default,
    cpuTimeMs: requestLimits.cpuTimeMs.default,
    outputBytes: requestLimits.outputBytes.default,
  };
  if (as === "process") {
    const timeoutMs = processTime(background, asked.timeoutMs);
    return { ...usual, timeoutMs, cpuTimeMs: asked.cpuTimeMs ?? requestLimits.processCpuTimeMs.default };
  }
  if (as === "context") return { ...usual, timeoutMs: background.mostMs, cpuTimeMs: requestLimits.cpuTimeMs.max };
  return {
    timeoutMs: asked.timeoutMs ?? runLimits.timeoutMs ?? usual.timeoutMs,
    cpuTimeMs: asked.cpuTimeMs ?? runLimits.cpuTimeMs ?? usual.cpuTimeMs,
    outputBytes: asked.outputBytes ?? runLimits.outputBytes ?? usual.outputBytes,
  };
}

/** Policy may let processes live shorter than the default. */
function processTime({ mostMs }: BackgroundPolicy, askedMs: number | undefined): number {
  const { default: usualMs, min, max } = requestLimits.processTimeMs;
  const range = { default: Math.min(usualMs, mostMs), min: Math.min(min, mostMs), max: Math.min(max, mostMs) };
  return checkRange(askedMs ?? range.default, range, "timeout", showSeconds);
}
