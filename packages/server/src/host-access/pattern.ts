/** A pattern is a command with wildcards, compared word by word: no argument can pass for another (HST-01). */
import { AppError } from "../core/errors.ts";
import type { Argv } from "../core/host-access.ts";
import { hostLimits } from "./limits.ts";
import { splitWords, type Word } from "./split.ts";

/**
 * `one`: anything but a slash. `any`: anything. Both only inside a word; a word that is nothing but `*` is `word`, and, as the
 * last one, `words`, which is one or more; one that is nothing but `**` is last, and stands for whatever follows.
 */
type Part = { text: string } | "one" | "any";
type Element = readonly Part[] | "word" | "words" | "rest";

export interface Pattern {
  text: string;
  elements: readonly Element[];
}

/** `strict`: what it allows must be meant. `wide`: what it blocks must be caught. */
export type Reading = "strict" | "wide";

export function parsePattern(text: string): Pattern {
  if (text.length > hostLimits.patternChars)
    throw new AppError("too_large", `the pattern is too long (limit: ${hostLimits.patternChars} characters)`);
  const words = splitWords(text, { wildcards: true });
  if (words.length === 0) throw new AppError("invalid", "the pattern is empty: it must name a program");
  return { text, elements: words.map((word, index) => elementOf(word, index === words.length - 1)) };
}

/** One that allows something: the program it names is one program. */
export function parseAllowing(text: string): Pattern {
  const pattern = parsePattern(text);
  const [program] = pattern.elements;
  if (!Array.isArray(program) || program.some((part) => typeof part === "string"))
    throw new AppError("invalid", `the pattern '${text}' does not name a program`, {
      hint: "start it with the program's name or absolute path, without a wildcard: docker restart *",
    });
  return pattern;
}

function elementOf(word: Word, isLast: boolean): Element {
  const stars = word.every(({ char, bare }) => char === "*" && bare) ? word.length : 0;
  if (stars > 2) throw new AppError("invalid", "a wildcard must be * or **");
  if (stars === 2 && !isLast) throw new AppError("invalid", "** must be the last word");
  if (stars === 2) return "rest";
  if (stars === 1) return isLast ? "words" : "word";
  const parts: Part[] = [];
  for (const { char, bare } of word) {
    const last = parts.at(-1);
    if (char === "*" && bare) {
      if (last === "any") throw new AppError("invalid", "a wildcard must be * or **");
      if (last === "one") parts[parts.length - 1] = "any";
      else parts.push("one");
    } else if (typeof last === "object") parts[parts.length - 1] = { text: last.text + char };
    else parts.push({ text: char });
  }
  return parts;
}

export function hasWildcard({ elements }: Pattern): boolean {
  return elements.some((element) => typeof element === "string" || element.some((part) => typeof part === "string"));
}

/** The arguments, by their place, that a pattern lets through by a wildcard in a path; undefined where it does not match. */
export function matchPattern({ elements }: Pattern, argv: Argv, reading: Reading): readonly number[] | undefined {
  const guessed: number[] = [];
  for (const [index, element] of elements.entries()) {
    if (element === "rest" || element === "words") {
      const rest = argv.slice(index);
      if (element === "words" && rest.length === 0) return undefined;
      return rest.every((word) => isPlain(word, reading, element === "rest")) ? guessed : undefined;
    }
    const word = argv[index];
    if (word === undefined || !matchWord(element, word, reading)) return undefined;
    if (element !== "word" && element.length > 1 && startsAsPath(element)) guessed.push(index);
  }
  return argv.length === elements.length ? guessed : undefined;
}

/** Whether the word fits the element at that place of a pattern. */
export function matchAt({ elements }: Pattern, index: number, word: string): boolean {
  const element = elements[index];
  return element !== undefined && element !== "rest" && element !== "words" && matchWord(element, word, "strict");
}

function startsAsPath(parts: readonly Part[]): boolean {
  const [first] = parts;
  return typeof first === "object" && pathIn(first.text) !== undefined;
}

/** Where an absolute path begins in a word: `/srv/x`, `--file=/srv/x`, `if=/srv/x`, `-f/srv/x`. */
export function pathIn(word: string): number | undefined {
  return /^(?:-{0,2}[\w-]+=|-[a-z])?(?=\/)/i.exec(word)?.[0].length;
}

function matchWord(element: Exclude<Element, "rest" | "words">, word: string, reading: Reading): boolean {
  if (element === "word") return isPlain(word, reading, false);
  const wild = element.some((part) => typeof part === "string");
  if (!wild) return element.map((part) => (typeof part === "string" ? "" : part.text)).join("") === word;
  const startsWild = typeof element[0] === "string";
  return isPlain(word, reading, !startsWild) && fits(element, word, reading);
}

/** An option changes what a program does, and `..` where: a wildcard stands for neither, unless it says so. */
function isPlain(word: string, reading: Reading, options: boolean): boolean {
  if (reading === "wide") return true;
  return (options || !word.startsWith("-")) && !/(^|[/=:,])\.\.(\/|$)/.test(word);
}

/** Every place of the word that the parts so far reach, at once: time is the product of the two lengths at most. */
function fits(parts: readonly Part[], word: string, reading: Reading): boolean {
  let reached = new Uint8Array(word.length + 1);
  reached[0] = 1;
  for (const part of parts) {
    const next = new Uint8Array(word.length + 1);
    if (typeof part === "object") {
      for (let at = reached.indexOf(1); at >= 0; at = reached.indexOf(1, at + 1))
        if (word.startsWith(part.text, at)) next[at + part.text.length] = 1;
    } else {
      const wide = part === "any" || reading === "wide";
      let open = false;
      for (let at = 0; at <= word.length; at++) {
        open = (open && (wide || word[at - 1] !== "/")) || reached[at] === 1;
        if (open) next[at] = 1;
      }
    }
    reached = next;
  }
  return reached[word.length] === 1;
}
