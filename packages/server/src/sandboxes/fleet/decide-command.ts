import type { Command } from "../../core/command.ts";
import {
  type CommandCategory,
  type CommandDecision,
  type CommandPolicy,
  commandCategories,
} from "../../core/command-policy.ts";
import { installPrograms } from "../../core/image.ts";
import { policyLimits } from "./limits.ts";
import { programsOf, simpleCommands } from "./simple-commands.ts";

type Judged = Pick<Command, "what" | "terminal">;

interface Part {
  text: string;
  categories: CommandCategory[];
}

/** Decides by policy about a command (EXE-12). Every simple command of a line must pass. */
export function decideCommand(policy: CommandPolicy, command: Judged): CommandDecision {
  if (lengthOf(command) > policyLimits.commandChars) return tooLong(policy, command);
  const parts = partsOf(command);
  const categories = [...new Set(parts.flatMap((part) => part.categories))].sort();
  const rule = policy.deny.find((denied) => parts.some((part) => matches(denied, part)));
  if (rule !== undefined) return { verdict: "deny", categories, rule };
  const known = [...policy.allow, ...policy.ask];
  const isKnown = policy.allow.length === 0 || parts.every((part) => known.some((rule) => matches(rule, part)));
  if (!isKnown) return { verdict: "deny", categories, rule: null };
  const asks = policy.ask.find((asked) => parts.some((part) => matches(asked, part)));
  return { verdict: asks === undefined ? "allow" : "ask", categories, rule: asks ?? null };
}

/** Code is not read. */
function lengthOf({ what }: Judged): number {
  if ("line" in what) return what.line.length;
  return "argv" in what ? what.argv.reduce((sum, word) => sum + word.length + 1, 0) : 0;
}

function tooLong({ allow, deny, ask }: CommandPolicy, { terminal }: Judged): CommandDecision {
  const categories: CommandCategory[] = terminal === undefined ? ["other"] : ["other", "terminal"];
  const isFree = allow.length + deny.length + ask.length === 0;
  return { verdict: isFree ? "allow" : "deny", categories, rule: null };
}

/** A context runs code from its start on. */
function partsOf({ what, terminal }: Judged): Part[] {
  if ("code" in what || "interpreter" in what) return [{ text: "", categories: ["code"] }];
  const commands = "line" in what ? simpleCommands(what.line) : [[...what.argv], ...inner(what.argv)];
  const parts = commands.map((words) => ({ text: namedText(words), categories: categoriesOf(words) }));
  if (terminal !== undefined) parts.push({ text: "", categories: ["terminal"] });
  return parts.length === 0 ? [{ text: "", categories: ["other"] }] : parts;
}

/** A program of Caisson's own is written by its name, as people write rules. */
function namedText([program = "", ...others]: readonly string[]): string {
  const isOwn = program.startsWith(`${installPrograms}/`);
  return [isOwn ? program.slice(installPrograms.length + 1) : program, ...others].join(" ");
}

/** `bash -c LINE` is its line too. */
function inner(words: readonly string[]): string[][] {
  const at = words.findIndex((word) => /^-\w*c$/.test(word));
  const isShell = programsOf(words).some((name) => (commandCategories.shell as readonly string[]).includes(name));
  return isShell && at > 0 ? simpleCommands(words[at + 1] ?? "") : [];
}

function categoriesOf(words: readonly string[]): CommandCategory[] {
  const programs = programsOf(words);
  const found = (Object.keys(commandCategories) as (keyof typeof commandCategories)[]).filter((category) =>
    programs.some((name) => (commandCategories[category] as readonly string[]).includes(plain(name))),
  );
  return found.length === 0 ? ["other"] : found;
}

/** `python3.11` is python3. */
function plain(name: string): string {
  return name.replace(/(?<=[a-z]\d*)\.\d+$/, "");
}

function matches(rule: string, { text, categories }: Part): boolean {
  if (rule.startsWith("category:")) return categories.some((category) => category === rule.slice("category:".length));
  return matchesPattern(rule, text);
}

/** Without a regular expression: a pattern of many stars must not cost more than its length times the text's. */
function matchesPattern(pattern: string, text: string): boolean {
  let [p, t, star, mark] = [0, 0, -1, 0];
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      mark = t;
    } else if (p < pattern.length && pattern[p] === text[t]) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
