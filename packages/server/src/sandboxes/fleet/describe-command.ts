import type { Question } from "../../core/approval.ts";
import { type Command, kindOf, textOf } from "../../core/command.ts";
import type { RunLimits } from "../../core/run.ts";
import { defined } from "../../lib/defined.ts";
import { quote } from "../../lib/quote.ts";

const MiB = 1024 ** 2;

/** A command as a human sees it before it runs. */
export interface Description {
  text: string;
  /** Everything beside the text that decides what runs. */
  detail: Question["detail"];
}

/** Two commands with the same description run the same in one sandbox (S106). */
export function describe(command: Command): Description {
  const { what, terminal, domains } = command;
  const context = "code" in what ? what.context : undefined;
  const { cwd, env = {} } = context ?? command;
  const limits = { ...context?.limits, ...command.limits };
  const variables = Object.entries(env).map(([name, value]) => `${quote(name)}=${quote(value)}`);
  const detail = {
    run: kindOf(command),
    shell: "line" in what ? true : undefined,
    language: "code" in what ? what.language : "interpreter" in what ? what.interpreter : undefined,
    context: context?.id,
    cwd,
    ...describeInput(command),
    variables: wordsOf(variables.sort()),
    terminal: terminal && `${terminal.rows}x${terminal.columns}`,
    domains: wordsOf(domains.map(quote)),
    ...describeLimits(limits),
  };
  return { text: textOf(command), detail: defined(detail) };
}

const wordsOf = (words: readonly string[]) => (words.length === 0 ? undefined : words.join(" "));

function describeInput({ stdin }: Command) {
  if (stdin === undefined) return {};
  if (stdin === "stream") return { stdin_open: true };
  try {
    return { stdin: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(stdin) };
  } catch {
    return { stdin_base64: Buffer.from(stdin).toString("base64") };
  }
}

function describeLimits({ timeoutMs, cpuTimeMs, processes, outputBytes, memoryBytes, cpus }: Partial<RunLimits>) {
  return {
    timeout_seconds: timeoutMs === undefined ? undefined : timeoutMs / 1000,
    cpu_time_seconds: cpuTimeMs === undefined ? undefined : cpuTimeMs / 1000,
    max_processes: processes,
    max_output_bytes: outputBytes,
    memory_mb: memoryBytes === undefined ? undefined : memoryBytes / MiB,
    max_cpu_cores: cpus,
  };
}
