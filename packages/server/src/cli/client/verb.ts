import type { Caisson } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { formatOptions, type OptionSpecs, type ParsedOptions, parseOptions } from "../options.ts";
import { configOption, daemonHelp, helpOption, namespaceOption } from "../report-options.ts";
import type { RunIo } from "../run.ts";
import { examples } from "./examples.ts";

/** Verbs with more words pass the words that follow to a program. */
const fewWords = 3;

/** Input of a verb: the daemon, its options and words, and the streams for its output. */
export interface VerbCall {
  caisson: Caisson;
  options: ParsedOptions;
  /** Arguments other than options. */
  words: string[];
  json: boolean;
  io: RunIo;
}

/** A command that calls a daemon. */
export interface Verb {
  summary: string;
  /** Arguments in the usage line, after the command's name. */
  usage: string;
  /** Minimum and maximum number of words. */
  words: readonly [number, number];
  options?: OptionSpecs;
  about?: string;
  /** Runs the verb without a daemon if possible; undefined if one is required. */
  alone?(call: Omit<VerbCall, "caisson">): Promise<number | undefined>;
  run(call: VerbCall): Promise<number>;
}

const clientOptionSpecs = {
  namespace: namespaceOption,
  priority: { type: "string", value: "N", help: "priority among the namespace's waiting jobs, from -100 to 100" },
  json: { type: "boolean", help: "print one JSON document" },
  config: configOption,
  help: helpOption,
} as const satisfies OptionSpecs;

export function optionsOf(verb: Verb): OptionSpecs {
  return { ...verb.options, ...clientOptionSpecs };
}

export function verbHelpText(name: string, verb: Verb): string {
  const about = verb.about === undefined ? "" : `\n${verb.about}\n`;
  const shown = examples[name]?.map((line) => `  ${line}\n`).join("") ?? "";
  const summary = verb.summary.charAt(0).toUpperCase() + verb.summary.slice(1);
  return `usage: caisson ${name} [OPTIONS]${verb.usage === "" ? "" : ` ${verb.usage}`}

${summary}.
${about}
${formatOptions(optionsOf(verb))}
${shown === "" ? "" : `\nExamples:\n${shown}`}
${daemonHelp}
`;
}

/**
 * Options may also follow the words of a verb: `vault add NAME VALUE --namespace prod`. If the verb takes few words, options
 * may come after the required ones.
 */
function optionsFirst(args: readonly string[], verb: Verb): readonly string[] {
  const [least, most] = verb.words;
  const { rest } = parseOptions(args, optionsOf(verb));
  const known = new Set(
    Object.entries(optionsOf(verb)).flatMap(([name, { alias, short }]) => [
      ...[`--${name}`, `--${alias ?? name}`],
      ...(short === undefined ? [] : [`-${short}`]),
    ]),
  );
  const isOurs = (word: string, at: number) => at >= least && known.has(word.split("=")[0] ?? "");
  const early = most <= fewWords ? rest.slice(0, most).findIndex(isOurs) : -1;
  const tail = rest.slice(early === -1 ? most : early);
  const isOption = tail[0]?.startsWith("--") === true || known.has(tail[0] ?? "");
  if (!isOption || args.includes("--")) return args;
  return [...tail, ...args.slice(0, args.length - tail.length)];
}

/** Undefined when --help is given. */
export function parseVerb(name: string, verb: Verb, args: readonly string[]): ParsedOptions | undefined {
  const [least, most] = verb.words;
  const options = parseOptions(optionsFirst(args, verb), optionsOf(verb));
  if (options.flag("help")) return undefined;
  const usage = `caisson ${name} ${verb.usage}`.trimEnd();
  if (options.rest.length < least)
    throw new AppError("invalid", `missing ${verb.usage.split(" ")[options.rest.length]?.replace("…", "")}`, {
      hint: usage,
    });
  if (options.rest.length > most)
    throw new AppError("invalid", `unexpected argument '${options.rest[most]}'`, { hint: usage });
  return options;
}
