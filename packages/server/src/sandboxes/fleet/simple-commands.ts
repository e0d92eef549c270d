import { commandWrappers } from "../../core/command-policy.ts";

/**
 * The simple commands of a shell line, as far as words show them, each with single spaces and without quotes. This reads
 * what was written, not what a shell would make of it: policy guides an agent, the sandbox contains it.
 */
export function simpleCommands(line: string): string[][] {
  const commands: string[][] = [[]];
  let word: string | undefined;
  let quote = "";
  /** The quotes around each substitution or group that is open. */
  const around: { quote: string; end: string }[] = [];
  const endWord = () => {
    if (word !== undefined) commands.at(-1)?.push(word);
    word = undefined;
  };
  const endCommand = () => {
    endWord();
    commands.push([]);
  };
  const open = (end: string) => {
    endCommand();
    around.push({ quote, end });
    quote = "";
  };
  const add = (char: string) => {
    word = (word ?? "") + char;
  };
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? "";
    if (quote === "'") {
      if (char === "'") quote = "";
      else add(char);
    } else if (char === "\\") add(line[++at] ?? "");
    else if (quote === "" && char === around.at(-1)?.end) {
      endCommand();
      quote = around.pop()?.quote ?? "";
    } else if (char === "`") open("`");
    else if (char === "$" && line[at + 1] === "(") {
      open(")"); // what a substitution runs is a command too, also between double quotes
      at++;
    } else if (char === '"' || (char === "'" && quote === "")) {
      quote = quote === "" ? char : "";
      add("");
    } else if (quote !== "") add(char);
    else if (char === "(") open(")");
    else if (/[;|&\n{})]/.test(char)) endCommand();
    else if (/\s/.test(char)) endWord();
    else add(char);
  }
  endCommand();
  return commands.map(withoutKeywords).filter((words) => words.length > 0);
}

const keywords = ["if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "!", "time", "function"];

function withoutKeywords(words: string[]): string[] {
  const first = words.findIndex((word) => !keywords.includes(word) && !/^\w+=/.test(word));
  return first < 0 ? [] : words.slice(first);
}

/** The programs that a simple command names: its first word, and those behind wrappers. */
export function programsOf(words: readonly string[]): string[] {
  const programs: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const name = words[at]?.split("/").at(-1) ?? "";
    if (name.startsWith("-") || /^\w+=/.test(name) || (programs.length > 0 && /^\d/.test(name))) continue;
    programs.push(name);
    if (!commandWrappers.includes(name)) break;
  }
  return programs;
}
