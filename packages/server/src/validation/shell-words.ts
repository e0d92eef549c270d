import type { Assignment, Command, Word } from "unbash";

/** A command by the words that it runs with, what only hands it on (sudo, env, xargs …) taken off. */
export interface SimpleCommand {
  /** The last part of its path; empty where only the running shell knows. */
  name: string;
  args: Word[];
  /** What it was handed on by. */
  through: string[];
  node: Command;
}

/** Programs that run the command in their arguments, and those of their options that take a value. */
const carriers: Record<string, string> = {
  sudo: "ugpCchrTt",
  doas: "uC",
  env: "uSC",
  nohup: "",
  nice: "n",
  ionice: "cn",
  time: "fo",
  timeout: "ks",
  stdbuf: "ioe",
  setsid: "",
  exec: "a",
  command: "",
  builtin: "",
  xargs: "aEdIiLlnPs",
  busybox: "",
  unbuffer: "",
};

const isWord = (argument: Word | Assignment): argument is Word => argument.type === "Word";

/** Whether a shell needs to run to know what the word is. */
export const isDynamic = ({ parts }: Word): boolean =>
  parts?.some(({ type, ...part }) => {
    if (type === "DoubleQuoted" || type === "LocaleString")
      return "parts" in part && (part.parts ?? []).some((inner) => inner.type !== "Literal");
    return /Expansion$|Substitution$/.test(type) && type !== "BraceExpansion";
  }) ?? false;

export function simplify(node: Command): SimpleCommand {
  let words = node.name === undefined ? [] : [node.name, ...node.args.map(asWord)];
  const through: string[] = [];
  for (;;) {
    const [first, ...rest] = words;
    const name = first === undefined || isDynamic(first) ? "" : (first.value.split("/").at(-1) ?? "");
    const withValue = Object.hasOwn(carriers, name) ? carriers[name] : undefined;
    if (withValue === undefined) return { name, args: rest, through, node };
    const next = skipOptions(name, rest, withValue);
    if (next.length === 0) return { name, args: rest, through, node };
    through.push(name);
    words = next;
  }
}

/** An argument like of=/dev/sda reads as an assignment. */
const asWord = (argument: Word | Assignment): Word =>
  isWord(argument)
    ? argument
    : { type: "Word", text: argument.text, value: argument.text, pos: argument.pos, end: argument.end };

function skipOptions(name: string, words: Word[], withValue: string): Word[] {
  let at = 0;
  for (; at < words.length; at += 1) {
    const value = words[at]?.value ?? "";
    if (value === "--") return words.slice(at + 1);
    if (name === "env" && /^[A-Za-z_]\w*=/.test(value)) continue;
    if (!/^-./.test(value)) break;
    // -n 5 and not -n5 nor --adjustment=5
    if (/^-[A-Za-z]$/.test(value) && withValue.includes(value[1] ?? "")) at += 1;
  }
  // timeout's own first argument is its time.
  return words.slice(name === "timeout" ? at + 1 : at);
}

/** Short options as letters, and long ones by name. */
export function optionsOf(args: readonly Word[]): { letters: Set<string>; names: Set<string>; operands: Word[] } {
  const letters = new Set<string>();
  const names = new Set<string>();
  const operands: Word[] = [];
  let isOver = false;
  for (const word of args) {
    if (isOver || !/^-./.test(word.value)) operands.push(word);
    else if (word.value === "--") isOver = true;
    else if (word.value.startsWith("--")) names.add(word.value.slice(2).split("=", 1)[0] ?? "");
    else for (const letter of word.value.slice(1)) letters.add(letter);
  }
  return { letters, names, operands };
}
