import { parseArgs } from "node:util";
import { AppError } from "../core/errors.ts";
import { parseNumber, parseSize } from "../core/size.ts";

interface OptionSpec {
  type: "string" | "boolean";
  short?: string;
  multiple?: boolean;
  /** Another spelling of the same option. */
  alias?: string;
  value?: string;
  help: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

export interface ParsedOptions {
  text(name: string): string | undefined;
  texts(name: string): string[];
  flag(name: string): boolean;
  number(name: string): number | undefined;
  /** In bytes. */
  size(name: string): number | undefined;
  /** The first positional and everything after it, untouched: options of a script are not ours. */
  rest: string[];
}

/** Options end at the first positional, so that `run script.py --verbose` passes --verbose to the script. */
function splitAtPositional(args: readonly string[], specs: OptionSpecs): [string[], string[]] {
  const takesValue = new Set<string>();
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.type !== "string") continue;
    takesValue.add(`--${name}`);
    if (spec.alias !== undefined) takesValue.add(`--${spec.alias}`);
    if (spec.short !== undefined) takesValue.add(`-${spec.short}`);
  }
  let at = 0;
  while (at < args.length) {
    const arg = args[at] ?? "";
    if (arg === "--") return [args.slice(0, at), args.slice(at + 1)];
    if (arg === "-" || !arg.startsWith("-")) break;
    at += takesValue.has(arg) ? 2 : 1;
  }
  return [args.slice(0, at), args.slice(at)];
}

/** Options may also follow the file directly: `run FILE --engine gvisor`. They are ours up to the first unknown one. */
function takeTrailing(rest: string[], specs: OptionSpecs): [string[], string[]] {
  const known = new Set(Object.entries(specs).flatMap(([name, spec]) => [`--${name}`, `--${spec.alias ?? name}`]));
  const [file, ...tail] = rest;
  if (file === undefined) return [[], rest];
  const [own, others] = splitAtPositional(tail, specs);
  const stop = own.findIndex((arg) => arg.startsWith("-") && !known.has(arg.split("=")[0] ?? ""));
  const taken = stop === -1 ? own : own.slice(0, stop);
  return [taken, [file, ...own.slice(taken.length), ...others]];
}

export function parseOptions(args: readonly string[], specs: OptionSpecs): ParsedOptions {
  const [before, positionals] = splitAtPositional(args, specs);
  const ended = args[before.length] === "--";
  const [after, rest] = ended ? [[], positionals] : takeTrailing(positionals, specs);
  const options: Record<string, { type: "string" | "boolean"; short?: string; multiple?: boolean }> = {};
  for (const [name, { type, short, multiple, alias }] of Object.entries(specs)) {
    options[name] = { type, ...(short === undefined ? {} : { short }), multiple: multiple ?? false };
    if (alias !== undefined) options[alias] = { type, multiple: multiple ?? false };
  }
  const values = readValues([...before, ...after], options);
  const get = (name: string) => values[name] ?? values[specs[name]?.alias ?? name];
  const text = (name: string) => (typeof get(name) === "string" ? String(get(name)) : undefined);
  const parsed = (name: string, parse: (text: string, what: string) => number) => {
    const given = text(name);
    return given === undefined ? undefined : parse(given, `--${name}`);
  };
  return {
    text,
    number: (name) => parsed(name, parseNumber),
    size: (name) => parsed(name, parseSize),
    texts: (name) => [get(name) ?? []].flat().map(String),
    flag: (name) => get(name) === true,
    rest,
  };
}

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

function readValues(args: string[], options: NonNullable<Parameters<typeof parseArgs>[0]>["options"]): Values {
  try {
    return parseArgs({ args, options: options ?? {}, strict: true, allowPositionals: false }).values;
  } catch (error) {
    const message = error instanceof Error ? (error.message.split(/[.\n]/)[0] ?? error.message) : String(error);
    const text = message.replace(/^Option '(.*) <value>' argument missing$/, "Missing value of option '$1'");
    throw new AppError("invalid", text.charAt(0).toLowerCase() + text.slice(1), {
      hint: "see --help",
    });
  }
}

export function formatOptions(specs: OptionSpecs): string {
  const rows = Object.entries(specs).map(([name, spec]) => {
    const short = spec.short === undefined ? "    " : `-${spec.short}, `;
    return [`  ${short}--${name}${spec.value === undefined ? "" : ` ${spec.value}`}`, spec.help] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, help]) => left.padEnd(width) + help).join("\n");
}
