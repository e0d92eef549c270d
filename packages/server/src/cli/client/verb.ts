import type { Caisson } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { formatOptions, type OptionSpecs, type ParsedOptions, parseOptions } from "../options.ts";
import { configOption, helpOption, namespaceOption } from "../report-options.ts";
import type { RunIo } from "../run.ts";
import { examples } from "./examples.ts";
import { tellJson } from "./tell.ts";

/** Verbs with more of them hand what follows on to a program. */
const fewWords = 3;

/** What a verb gets: the daemon, what was asked, where to tell. */
export interface VerbCall {
  caisson: Caisson;
  options: ParsedOptions;
  /** Words that are no options. */
  words: string[];
  json: boolean;
  io: RunIo;
}

/** A command that asks a daemon for something. */
export interface Verb {
  summary: string;
  /** After the command's name. */
  usage: string;
  /** How many words it takes, at least and at most. */
  words: readonly [number, number];
  options?: OptionSpecs;
  about?: string;
  /** What can be done without a daemon; undefined when one is needed. */
  alone?(call: Omit<VerbCall, "caisson">): Promise<number | undefined>;
  run(call: VerbCall): Promise<number>;
}

/** A verb on what it names, which tells nothing when it is done: as JSON, an empty object. */
export function quiet(
  summary: string,
  names: readonly string[],
  act: (call: VerbCall, ...words: string[]) => Promise<unknown>,
): Verb {
  return {
    summary,
    usage: names.join(" "),
    words: [names.length, names.length],
    run: async (call) => {
      await act(call, ...call.words);
      return call.json ? tellJson(call.io, {}) : 0;
    },
  };
}

const clientOptionSpecs = {
  namespace: namespaceOption,
  priority: { type: "string", value: "N", help: "-100 to 100: which of the namespace's jobs that wait goes first" },
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
The daemon is that of this data folder, with its administrator's key, unless CAISSON_URL and CAISSON_API_KEY name another.
`;
}

/**
 * Options may also follow the words of a verb: `vault add NAME VALUE --namespace prod`. Where it takes few words, ours may stand
 * after the least of them.
 */
function optionsFirst(args: readonly string[], verb: Verb): readonly string[] {
  const [least, most] = verb.words;
  const { rest } = parseOptions(args, optionsOf(verb));
  const known = new Set(
    Object.entries(optionsOf(verb)).flatMap(([name, { alias }]) => [`--${name}`, `--${alias ?? name}`]),
  );
  const isOurs = (word: string, at: number) => at >= least && known.has(word.split("=")[0] ?? "");
  const early = most <= fewWords ? rest.slice(0, most).findIndex(isOurs) : -1;
  const tail = rest.slice(early === -1 ? most : early);
  if (tail[0]?.startsWith("--") !== true || args.includes("--")) return args;
  return [...tail, ...args.slice(0, args.length - tail.length)];
}

/** Undefined when help was asked for. */
export function parseVerb(name: string, verb: Verb, args: readonly string[]): ParsedOptions | undefined {
  const [least, most] = verb.words;
  const options = parseOptions(optionsFirst(args, verb), optionsOf(verb));
  if (options.flag("help")) return undefined;
  const usage = `caisson ${name} ${verb.usage}`.trimEnd();
  if (options.rest.length < least)
    throw new AppError("invalid", `${verb.usage.split(" ")[options.rest.length]} is missing`, { hint: usage });
  if (options.rest.length > most) throw new AppError("invalid", "there are too many words", { hint: usage });
  return options;
}
