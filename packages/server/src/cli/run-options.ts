import type { Configuration } from "../config/config.ts";
import type { RuleDraft } from "../core/egress-policies.ts";
import type { SandboxLimits } from "../core/engine.ts";
import { AppError } from "../core/errors.ts";
import { type Language, languageOf, languages } from "../core/language.ts";
import { type Range, requestLimits } from "../core/limits.ts";
import { type EngineChoice, parseEngineChoice } from "../core/request.ts";
import type { RunLimits } from "../core/run.ts";
import { showBytes } from "../core/size.ts";
import { readRuleText } from "../egress/rule-text.ts";
import { defined } from "../lib/defined.ts";
import { checkMisplaced } from "./misplaced-option.ts";
import { namedValues } from "./named-values.ts";
import { type OptionSpecs, type ParsedOptions, parseOptions } from "./options.ts";
import { configOption, helpOption } from "./report-options.ts";

function bytesRange(range: Range): string {
  return `default: ${showBytes(range.default)}, maximum: ${showBytes(range.max)}`;
}

export const runOptionSpecs = {
  engine: {
    type: "string",
    short: "e",
    alias: "backend",
    value: "NAME",
    help: "gvisor, container, or auto: the strongest that works on this machine (default: auto)",
  },
  language: {
    type: "string",
    short: "l",
    value: "NAME",
    help: "python, node or shell (default: by the file's extension)",
  },
  memory: {
    type: "string",
    short: "m",
    alias: "ram",
    value: "SIZE",
    help: `memory limit (${bytesRange(requestLimits.memoryBytes)})`,
  },
  cpus: {
    type: "string",
    alias: "cpu",
    value: "N",
    help: `CPU cores; fractions allowed (default: ${requestLimits.cpus.default})`,
  },
  timeout: {
    type: "string",
    short: "t",
    value: "SECONDS",
    help: `wall-clock limit (default: none, maximum: ${requestLimits.timeoutMs.max / 1000})`,
  },
  "cpu-time": {
    type: "string",
    value: "SECONDS",
    help: `CPU time limit of all processes together (default: ${requestLimits.cpuTimeMs.default / 1000}, maximum: ${requestLimits.cpuTimeMs.max / 1000})`,
  },
  processes: {
    type: "string",
    value: "N",
    help: `limit of processes and threads (default: ${requestLimits.processes.default}, maximum: ${requestLimits.processes.max})`,
  },
  storage: { type: "string", value: "SIZE", help: `workspace size limit (${bytesRange(requestLimits.storageBytes)})` },
  "max-output": {
    type: "string",
    value: "SIZE",
    help: "with --json: bytes of stdout, and of stderr, in the result (default: 1 MB)",
  },
  env: {
    type: "string",
    multiple: true,
    value: "NAME[=VALUE]",
    help: "set an environment variable; without =VALUE, copies yours",
  },
  "allow-domain": {
    type: "string",
    multiple: true,
    value: "RULE",
    help: "allow connections to a domain: api.example.com, *.example.com, db.example.com:5432",
  },
  range: {
    type: "string",
    multiple: true,
    value: "CIDR",
    help: "with --allow-domain: private network that the domains may resolve to, such as 10.0.0.0/8",
  },
  input: { type: "string", value: "DIR[:ro]", help: "copy DIR to /workspace/input (read-only)" },
  "allow-credentials": {
    type: "boolean",
    help: "copy the --input folder even if it contains keys or tokens, such as .ssh or .aws",
  },
  output: { type: "string", value: "DIR", help: "copy /workspace/output to DIR after the run" },
  config: configOption,
  json: { type: "boolean", help: "print the result as one JSON document instead of the output" },
  help: helpOption,
} as const satisfies OptionSpecs;

/** The sandbox that a command creates, and the limits of the run in it. */
export interface BoxPlan {
  /** Default: the setting `engine`. */
  engine?: EngineChoice;
  sandbox: Partial<SandboxLimits>;
  limits: Partial<RunLimits>;
  env: Record<string, string>;
  /** Domains in addition to the configured ones. */
  allowDomains?: readonly (string | RuleDraft)[];
  inputFolder?: string;
  /** The input folder may hold credentials. */
  allowCredentials: boolean;
  outputFolder?: string;
  configFile?: string;
}

/** A parsed `caisson run` command. */
export interface RunPlan extends BoxPlan {
  /** A path, or "-" for code on standard input. */
  file: string;
  args: string[];
  language: Language;
  json: boolean;
}

function chooseLanguage(asked: string | undefined, file: string): Language {
  if (asked !== undefined) {
    const aliases: Record<string, string> = {
      py: "python",
      js: "node",
      javascript: "node",
      sh: "shell",
      bash: "shell",
    };
    const language = languages.find((known) => known === (aliases[asked] ?? asked));
    if (language !== undefined) return language;
    throw new AppError("invalid", `unknown language '${asked}'`, { hint: `--language ${languages.join("|")}` });
  }
  const found = languageOf(file);
  if (found !== undefined) return found;
  const what = file === "-" ? "code on standard input" : `'${file}'`;
  throw new AppError("invalid", `unknown language of ${what}`, {
    hint: `--language ${languages.join("|")}`,
  });
}

export function readBox(options: ParsedOptions, variables: Readonly<Record<string, string | undefined>>): BoxPlan {
  const seconds = (name: string) => {
    const value = options.number(name);
    return value === undefined ? undefined : Math.round(value * 1000);
  };
  const plan: BoxPlan = {
    sandbox: defined({
      memoryBytes: options.size("memory"),
      cpus: options.number("cpus"),
      processes: options.number("processes"),
      storageBytes: options.size("storage"),
    }),
    limits: defined({
      timeoutMs: seconds("timeout"),
      cpuTimeMs: seconds("cpu-time"),
      outputBytes: options.size("max-output"),
    }),
    env: namedValues(options.texts("env"), "env", variables),
    allowCredentials: options.flag("allow-credentials"),
  };
  const engine = options.text("engine");
  if (engine !== undefined) plan.engine = parseEngineChoice(engine);
  const configFile = options.text("config");
  if (configFile !== undefined) plan.configFile = configFile;
  const domains = options.texts("allow-domain");
  if (domains.length > 0) plan.allowDomains = withRanges(domains, options.texts("range"));
  else if (options.texts("range").length > 0)
    throw new AppError("invalid", "--range requires --allow-domain", {
      hint: "--allow-domain db.example.com:5432 --range 10.0.0.0/8",
    });
  const input = options.text("input");
  const output = options.text("output");
  if (input?.endsWith(":rw"))
    throw new AppError("invalid", "--input is read-only", { hint: "use --output DIR for results" });
  if (input !== undefined) plan.inputFolder = input.replace(/:ro$/, "");
  if (output !== undefined) plan.outputFolder = output;
  return plan;
}

function withRanges(domains: readonly string[], ranges: string[]): readonly (string | RuleDraft)[] {
  return ranges.length === 0 ? domains : domains.map((text) => ({ ...readRuleText(text), ranges }));
}

/** Undefined when --help is given. */
export function parseRun(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): RunPlan | undefined {
  const options = parseOptions(args, runOptionSpecs);
  if (options.flag("help")) return undefined;
  checkMisplaced("caisson run", args, runOptionSpecs);
  const [file, ...rest] = options.rest;
  if (file === undefined)
    throw new AppError("invalid", "missing FILE", {
      hint: "caisson run FILE, or caisson run - for code from standard input",
    });
  const language = chooseLanguage(options.text("language"), file);
  return { ...readBox(options, variables), file, args: rest, language, json: options.flag("json") };
}

/** A person at a terminal waits as long as they like, so there is no wall-clock limit unless it is set. */
export function wallClockMs(plan: RunPlan, { settings, origins }: Configuration): number {
  if (plan.limits.timeoutMs !== undefined) return plan.limits.timeoutMs;
  return origins.timeout_seconds === "default" ? 0 : Math.round(settings.timeout_seconds * 1000);
}
