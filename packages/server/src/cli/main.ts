import { isatty } from "node:tty";
import { type Caisson, openCaisson } from "../app.ts";
import { type Environment, readEnvironment } from "../config/env.ts";
import { AppError } from "../core/errors.ts";
import { completion } from "./completion.ts";
import { doctor } from "./doctor.ts";
import { exitCodeOf, exitCodes } from "./exit-codes.ts";
import { helpText, runHelpText, shellHelpText, version } from "./help.ts";
import { type RunIo, run } from "./run.ts";
import { parseRun } from "./run-options.ts";
import { shell } from "./shell.ts";
import { parseShell } from "./shell-options.ts";
import { formatError } from "./terminal.ts";

async function withCaisson(environment: Environment, use: (caisson: Caisson) => Promise<number>): Promise<number> {
  await using caisson = openCaisson(environment);
  return await use(caisson);
}

const helpTexts: Record<string, (() => string) | undefined> = { run: runHelpText, shell: shellHelpText };

async function dispatch(args: string[], environment: Environment, io: RunIo): Promise<number> {
  const [verb, ...rest] = args;
  switch (verb) {
    case "run": {
      const plan = parseRun(rest, environment.variables);
      if (plan !== undefined) return withCaisson(environment, (caisson) => run(caisson, plan, io));
      io.stdout.write(runHelpText());
      return 0;
    }
    case "shell": {
      const plan = parseShell(rest, environment.variables);
      if (plan !== undefined) return withCaisson(environment, (caisson) => shell(caisson, plan, io));
      io.stdout.write(shellHelpText());
      return 0;
    }
    case "doctor":
      return withCaisson(environment, (caisson) => doctor(caisson, rest, io));
    case "completion":
      io.stdout.write(completion(rest));
      return 0;
    case "version":
    case "--version":
    case "-V":
      io.stdout.write(`caisson ${version}\n`);
      return 0;
    case "help":
    case "--help":
    case "-h":
      io.stdout.write((helpTexts[rest[0] ?? ""] ?? helpText)());
      return 0;
    case undefined:
      io.stderr.write(helpText());
      return exitCodes.usage;
    default:
      throw new AppError("invalid", `there is no command '${verb}'`, { hint: "caisson --help lists the commands" });
  }
}

async function main(): Promise<void> {
  const environment = readEnvironment();
  const { stdin, stdout, stderr } = process;
  const color = isatty(2) && !environment.noColor;
  const io: RunIo = { stdin, stdout, stderr, terminal: { color } };
  // Whoever read our output has gone: there is nobody left to tell. A run ends in order (run.ts).
  for (const stream of [stdout, stderr]) {
    stream.on("error", () => {
      process.exitCode = exitCodes.pipe;
    });
  }
  try {
    const code = await dispatch(process.argv.slice(2), environment, io);
    process.exitCode ??= code;
  } catch (error) {
    const told =
      error instanceof AppError
        ? error
        : new AppError("internal", String(error), {
            hint: "this is a bug in Caisson; CAISSON_DEBUG=1 shows where",
            cause: error,
          });
    stderr.write(formatError(io.terminal, told));
    if (environment.debug && error instanceof Error) stderr.write(`${error.stack}\n`);
    process.exitCode = exitCodeOf(told);
  }
  // An open standard input would keep the process alive after the run has ended.
  stdin.destroy();
}

await main();
