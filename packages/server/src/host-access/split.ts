/** A command's text becomes words as a POSIX shell would quote them, and nothing in it is a shell's to interpret (HST-02). */
import { AppError } from "../core/errors.ts";
import { hostLimits } from "./limits.ts";

/** A character, and whether it stood there without quotes: only such a `*` is a wildcard. */
interface Mark {
  char: string;
  bare: boolean;
}
export type Word = readonly Mark[];

const blank = /[ \t]/;
/** A shell would not take these for themselves. Passed on as plain characters they would do something else than was meant. */
const special = /[;|&<>()`$*?[\r\n]/;
const specialInDouble = /[`$]/;
const specialAtStart = /[~#]/;

interface SplitOptions {
  /** Patterns have wildcards. */
  wildcards?: boolean;
}

export function splitWords(text: string, { wildcards = false }: SplitOptions = {}): Word[] {
  if (text.includes("\0")) throw new AppError("invalid", "the command contains a NUL byte");
  if (Buffer.byteLength(text) > hostLimits.commandBytes)
    throw new AppError("too_large", `the command is too long (limit: ${hostLimits.commandBytes} bytes)`);
  const words: Mark[][] = [];
  let word: Mark[] | undefined;
  const chars = [...text];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? "";
    if (blank.test(char)) {
      word = undefined;
      continue;
    }
    const isStart = word === undefined;
    if (word === undefined) {
      word = [];
      words.push(word);
    }
    if (char === "'" || char === '"') at = takeQuoted(chars, at, word);
    else if (char === "\\") word.push(escaped(chars, ++at));
    else if (char === "*" && wildcards) word.push({ char, bare: true });
    else if (special.test(char) || (isStart && specialAtStart.test(char))) throw noShell(char);
    else word.push({ char, bare: true });
  }
  if (words.length > hostLimits.words)
    throw new AppError("too_large", `too many words in the command (limit: ${hostLimits.words})`);
  return words;
}

/** From the quote on to the one that ends it, whose place it returns. */
function takeQuoted(chars: readonly string[], from: number, word: Mark[]): number {
  const quote = chars[from];
  for (let at = from + 1; at < chars.length; at++) {
    const char = chars[at] ?? "";
    if (char === quote) return at;
    if (quote === '"' && specialInDouble.test(char)) throw noShell(char);
    // In double quotes a backslash escapes what would mean something there, and is itself before all else.
    if (quote === '"' && char === "\\" && /["\\$`]/.test(chars[at + 1] ?? "")) word.push(escaped(chars, ++at));
    else word.push({ char, bare: false });
  }
  throw new AppError("invalid", `a quote (${quote}) is not closed`);
}

function escaped(chars: readonly string[], at: number): Mark {
  const char = chars[at];
  if (char === undefined || char === "\n") throw new AppError("invalid", "a backslash is not followed by a character");
  return { char, bare: false };
}

function noShell(char: string): AppError {
  return new AppError("invalid", `${JSON.stringify(char)} is not supported: no shell runs this command`, {
    hint: "put it in single quotes, or pass the command as a list of arguments; pipes, redirections, variables and several commands are not supported",
  });
}

export function splitCommand(text: string): string[] {
  return splitWords(text).map((word) => word.map(({ char }) => char).join(""));
}

/** The text that splits into exactly these words, with no wildcard in it. */
export function quoteWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
