import { isatty } from "node:tty";
import type { Caisson } from "../app.ts";
import { caissonOptions } from "../config/caisson-options.ts";
import { type Configuration, loadConfiguration } from "../config/config.ts";
import { type Environment, readEnvironment } from "../config/env.ts";
import { givenSecrets } from "../config/secrets.ts";
import { AppError } from "../core/errors.ts";
import { auditHelpText, parseAudit } from "./audit-options.ts";
import { configHelpText, printConfig } from "./config.ts";
import { doctor, doctorHelpText } from "./doctor.ts";
import { exitCodeOf, exitCodes } from "./exit-codes.ts";
import { installHelpText, parseInstall } from "./mcp/install-options.ts";
import { mcpHelpText, mcpOptionSpecs, parseMcp, serveHelpText, serveOptionSpecs } from "./mcp/options.ts";
import { parseReport } from "./report-options.ts";
import type { RunIo } from "./run.ts";
import { parseRun, wallClockMs } from "./run-options.ts";
import { parseRuns, runsHelpText } from "./runs.ts";
import { parseShell } from "./shell-options.ts";
import { formatError } from "./terminal.ts";
import { downHelpText, parseUp, statusHelpText, upHelpText } from "./up-options.ts";
import { version } from "./version.ts";

// Commands load what only they need: an agent waits for the first answer of `caisson mcp`.

interface Configured {
  configFile?: string;
}

function load(environment: Environment, { configFile }: Configured): Promise<Configuration> {
  return loadConfiguration({ environment, ...(configFile === undefined ? {} : { configFile }) });
}

type HelpText = () => string | Promise<string>;

const runHelpText = async () => (await import("./help.ts")).runHelpText();
const shellHelpText = async () => (await import("./help.ts")).shellHelpText();
const completionHelpText = async () => (await import("./completion.ts")).completionHelpText();

/** Prints help even if the configuration is invalid. */
async function withPlan<P>(plan: P | undefined, help: HelpText, io: RunIo, use: (plan: P) => Promise<number>) {
  if (plan !== undefined) return await use(plan);
  io.stdout.write(await help());
  return 0;
}

async function withCaisson(
  environment: Environment,
  plan: Configured,
  use: (caisson: Caisson, configuration: Configuration) => Promise<number>,
): Promise<number> {
  const [configuration, { openCaisson }] = await Promise.all([load(environment, plan), import("../app.ts")]);
  await using caisson = openCaisson(caissonOptions(configuration));
  return await use(caisson, configuration);
}

function configWords({ configFile }: Configured): string[] {
  return configFile === undefined ? [] : ["--config", configFile];
}

const helpTexts: Record<string, HelpText | undefined> = {
  run: runHelpText,
  shell: shellHelpText,
  doctor: doctorHelpText,
  config: configHelpText,
  runs: runsHelpText,
  up: upHelpText,
  down: downHelpText,
  status: statusHelpText,
  audit: auditHelpText,
  mcp: mcpHelpText,
  serve: serveHelpText,
  completion: completionHelpText,
};

async function help(words: string[], io: RunIo): Promise<number> {
  const { clientHelpText } = await import("./client/client.ts");
  const { commands, helpText } = await import("./help.ts");
  const { findVerb } = await import("./client/verbs.ts");
  const [word] = words;
  const own = findVerb(words) === undefined ? await helpTexts[word ?? ""]?.() : undefined; // runs, but not runs show
  const text = own ?? clientHelpText(words);
  if (text === undefined && word !== undefined && !Object.hasOwn(commands, word))
    throw (await import("./unknown-command.ts")).unknownCommand(word);
  io.stdout.write(text ?? helpText());
  return 0;
}

async function askDaemon(args: string[], environment: Environment, io: RunIo): Promise<number> {
  const client = await import("./client/client.ts");
  const code = await client.askDaemon(args, environment, (plan) => load(environment, plan), io);
  if (code !== undefined) return code;
  throw (await import("./unknown-command.ts")).unknownCommand(args[0] ?? "");
}

async function dispatch(args: string[], environment: Environment, io: RunIo): Promise<number> {
  const [verb, ...rest] = args;
  switch (verb) {
    case "run":
      return withPlan(parseRun(rest, environment.variables), runHelpText, io, (plan) =>
        withCaisson(environment, plan, async (caisson, configuration) => {
          const { run } = await import("./run.ts");
          plan.limits.timeoutMs = wallClockMs(plan, configuration);
          return run(caisson, plan, io);
        }),
      );
    case "shell":
      return withPlan(parseShell(rest, environment.variables), shellHelpText, io, async (plan) => {
        if (!("sandboxId" in plan))
          return withCaisson(environment, plan, async (caisson) =>
            (await import("./shell.ts")).shell(caisson, plan, io),
          );
        const { shellIn } = await import("./client/shell.ts");
        return shellIn(await load(environment, plan), environment.variables, plan, io);
      });
    case "doctor":
      return withPlan(parseReport(rest), doctorHelpText, io, (plan) =>
        withCaisson(environment, plan, (caisson, configuration) => doctor(caisson, configuration, plan, io)),
      );
    case "runs":
      if (rest[0] === "show") return askDaemon(args, environment, io);
      return withPlan(parseRuns(rest), runsHelpText, io, async (plan) => {
        const { listRuns } = await import("./list-runs.ts");
        return listRuns(await load(environment, plan), environment.variables, plan, io);
      });
    case "config":
      return withPlan(parseReport(rest), configHelpText, io, async (plan) => {
        printConfig(await load(environment, plan), plan, io);
        return 0;
      });
    case "up":
      return withPlan(parseUp(rest), upHelpText, io, async (plan) => {
        const { up, upDetached } = await import("./up.ts");
        const configuration = await load(environment, plan);
        return plan.detach
          ? upDetached(plan, environment.variables, io)
          : up(configuration, givenSecrets(environment.variables), environment.variables, plan, io);
      });
    case "down":
      return withPlan(parseReport(rest), downHelpText, io, async (plan) => {
        const { down } = await import("./up.ts");
        return down(await load(environment, plan), plan, io);
      });
    case "status":
      return withPlan(parseReport(rest), statusHelpText, io, async (plan) => {
        const { status } = await import("./up.ts");
        return status(await load(environment, plan), plan, io);
      });
    case "audit":
      return withPlan(parseAudit(rest), auditHelpText, io, async (plan) => {
        const { audit } = await import("./audit.ts");
        return audit(await load(environment, plan), environment.variables, plan, io);
      });
    case "mcp":
      if (rest[0] === "install")
        return withPlan(parseInstall(rest.slice(1)), installHelpText, io, async (plan) => {
          const { installMcp } = await import("./mcp/install.ts");
          return installMcp(environment, plan, io);
        });
      return withPlan(parseMcp(rest, mcpOptionSpecs), mcpHelpText, io, async (plan) => {
        const { serveMcp } = await import("./mcp/serve.ts");
        return serveMcp(await load(environment, plan), environment.variables, plan, io);
      });
    case "serve":
      return withPlan(parseMcp(rest, serveOptionSpecs), serveHelpText, io, async (plan) => {
        const { serveMcp, toolsOf } = await import("./mcp/serve.ts");
        const configuration = await load(environment, plan);
        const tools = toolsOf(configuration, plan, ["all"]);
        if (plan.transport === "stdio") return serveMcp(configuration, environment.variables, { ...plan, tools }, io);
        const port = plan.port === undefined ? {} : { CAISSON_PORT: plan.port };
        const variables = { ...environment.variables, CAISSON_MCP_TOOLS: tools.join(), ...port };
        return dispatch(["up", ...configWords(plan)], { ...environment, variables }, io);
      });
    case "completion":
      return withPlan((await import("./completion.ts")).completion(rest), completionHelpText, io, async (script) => {
        io.stdout.write(script);
        return 0;
      });
    case "version":
    case "--version":
    case "-V":
      io.stdout.write(`caisson ${version}\n`);
      return 0;
    case "help":
    case "--help":
    case "-h":
      return help(rest, io);
    case undefined:
      io.stderr.write((await import("./help.ts")).helpText());
      return exitCodes.usage;
    default:
      return askDaemon(args, environment, io);
  }
}

async function main(): Promise<void> {
  const environment = readEnvironment();
  const { stdin, stdout, stderr } = process;
  const color = isatty(2) && !environment.noColor;
  const io: RunIo = { stdin, stdout, stderr, terminal: { color } };
  // The reader of our output has closed it, so nothing more can be printed. A run still ends in order (run.ts).
  for (const stream of [stdout, stderr]) {
    stream.on("error", () => {
      process.exitCode = exitCodes.pipe;
    });
  }
  try {
    const code = await dispatch(process.argv.slice(2), environment, io);
    process.exitCode ??= code;
  } catch (error) {
    const shown =
      error instanceof AppError
        ? error
        : new AppError("internal", String(error), {
            hint: "this is a bug in Caisson; set CAISSON_DEBUG=1 to print the stack trace",
            cause: error,
          });
    stderr.write(formatError(io.terminal, shown));
    if (environment.debug && error instanceof Error) stderr.write(`${error.stack}\n`);
    process.exitCode = exitCodeOf(shown);
  }
  // An open standard input would keep the process alive after the run has ended.
  stdin.destroy();
}

await main();
