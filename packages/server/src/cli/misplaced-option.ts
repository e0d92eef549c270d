import { AppError } from "../core/errors.ts";
import { type OptionSpecs, parseOptions } from "./options.ts";

/**
 * Refuses an option after the file that could be ours: the program would get it, and the run would lack a limit that its
 * command line shows. Everything after `--` belongs to the program.
 */
export function checkMisplaced(command: string, args: readonly string[], specs: OptionSpecs): void {
  const end = args.indexOf("--");
  const [file = "", ...words] = parseOptions(end === -1 ? args : args.slice(0, end), specs).rest;
  const at = words.findIndex((word) => optionOf(word, specs) !== undefined);
  const option = words[at];
  if (option === undefined) return;
  const takesValue = optionOf(option, specs)?.type === "string" && /^(--[\w-]+|-\w)$/.test(option);
  const own = words.slice(at, at + (takesValue ? 2 : 1));
  const others = words.toSpliced(at, own.length);
  const line = (...parts: string[]) => [command, ...parts.map(quote)].join(" ");
  throw new AppError(
    "invalid",
    `ambiguous option '${option}' after ${file}: it could belong to ${command} or to the program`,
    {
      hint: `for Caisson: ${line(...own, file, ...others)}; for the program: ${line(file, "--", ...words)}`,
    },
  );
}

/** Short ones also with their value: -t1, -t=1. */
function optionOf(word: string, specs: OptionSpecs): OptionSpecs[string] | undefined {
  return Object.entries(specs).find(([name, { alias, short }]) => {
    const long = word.split("=")[0];
    if (long === `--${name}` || long === `--${alias ?? name}`) return true;
    return short !== undefined && new RegExp(`^-${short}(=?\\d.*)?$`).test(word);
  })?.[1];
}

function quote(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
