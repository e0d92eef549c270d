import { languages } from "../core/language.ts";
import { engineChoices } from "../core/request.ts";
import { auditHelpText, auditOptionSpecs } from "./audit-options.ts";
import { optionsOf } from "./client/verb.ts";
import { clientVerbs, spellings } from "./client/verbs.ts";
import { configHelpText } from "./config.ts";
import { doctorHelpText } from "./doctor.ts";
import { runHelpText, shellHelpText } from "./help.ts";
import { installHelpText, installOptionSpecs } from "./mcp/install-options.ts";
import { mcpHelpText, mcpOptionSpecs, serveHelpText, serveOptionSpecs } from "./mcp/options.ts";
import type { OptionSpecs } from "./options.ts";
import { reportOptionSpecs } from "./report-options.ts";
import { runOptionSpecs } from "./run-options.ts";
import { runsHelpText, runsOptionSpecs } from "./runs.ts";
import { shellOptionSpecs } from "./shell-options.ts";
import { downHelpText, statusHelpText, upHelpText, upOptionSpecs } from "./up-options.ts";

/** Completions of a word: sandbox ids, ids with a path, files or folders of this machine, a fixed list of words, or none. */
export type Kind = "sandbox" | "copy" | "file" | "folder" | "none" | `:${string}`;

export interface Completed {
  /** The words that it is called by. */
  names: readonly string[];
  options: readonly { name: string; kind?: Kind; help: string; others: readonly string[] }[];
  /** Kinds of the words that follow, in order. */
  words: readonly Kind[];
  /** True if the last word may be repeated. */
  repeats: boolean;
}

/** Commands that need no daemon: their options, and the help text, whose usage lists their words. */
const own: Record<string, [OptionSpecs, string]> = {
  run: [runOptionSpecs, runHelpText()],
  shell: [shellOptionSpecs, shellHelpText()],
  up: [upOptionSpecs, upHelpText()],
  down: [reportOptionSpecs, downHelpText()],
  status: [reportOptionSpecs, statusHelpText()],
  "mcp install": [installOptionSpecs, installHelpText()],
  mcp: [mcpOptionSpecs, mcpHelpText()],
  serve: [serveOptionSpecs, serveHelpText()],
  runs: [runsOptionSpecs, runsHelpText()],
  audit: [auditOptionSpecs, auditHelpText()],
  doctor: [reportOptionSpecs, doctorHelpText()],
  config: [reportOptionSpecs, configHelpText()],
};

/** The kind of an option's value or of a word, by its name in the usage. Paths inside a sandbox are not completed. */
function kindOf(word: string): Kind {
  if (/^\[?SANDBOX:\]/.test(word)) return "copy";
  if (/^\[?SANDBOX\b/.test(word)) return "sandbox";
  const choices = /^\[?([a-z][a-z|-]*)\]?$/.exec(word)?.[1];
  if (choices?.includes("|") === true) return `:${choices.replaceAll("|", " ")}`;
  if (/^\[?DIR\b/.test(word)) return "folder";
  return /FILE|FOLDER|ARCHIVE|MANIFEST|\|PATH/.test(word) ? "file" : "none";
}

const valueKinds: Readonly<Record<string, Kind>> = {
  engine: `:${engineChoices.join(" ")}`,
  language: `:${languages.join(" ")}`,
  sandbox: "sandbox",
};

function completed(names: readonly string[], specs: OptionSpecs, usage: string): Completed {
  const words = usage.split(" ").filter((word) => word !== "" && word !== "[OPTIONS]");
  return {
    names,
    options: Object.entries(specs).map(([name, { type, value = "", help, alias, short }]) => ({
      name,
      ...(type === "string" ? { kind: valueKinds[name] ?? kindOf(value) } : {}),
      help,
      others: [...(alias === undefined ? [] : [`--${alias}`]), ...(short === undefined ? [] : [`-${short}`])],
    })),
    words: words.map(kindOf),
    repeats: words.at(-1)?.includes("…") ?? false,
  };
}

/** Every command as its help has it, those of two words before those of one. */
export const completedCommands: readonly Completed[] = [
  ...Object.entries(own).map(([name, [specs, text]]) =>
    completed([name], specs, text.split("\n")[0]?.replace(`usage: caisson ${name}`, "") ?? ""),
  ),
  ...Object.entries(clientVerbs).map(([name, verb]) => completed(spellings(name), optionsOf(verb), verb.usage)),
].sort((a, b) => wordsIn(b) - wordsIn(a));

function wordsIn({ names: [name = ""] }: Completed): number {
  return name.split(" ").length;
}

/** The second words of those that have two, by the first. */
export const subcommands: ReadonlyMap<string, readonly string[]> = new Map(
  [
    ...Map.groupBy(
      completedCommands.filter((one) => wordsIn(one) === 2),
      ({ names }) => names[0]?.split(" ")[0] ?? "",
    ),
  ].map(([first, commands]) => [first, commands.map(({ names }) => names[0]?.split(" ")[1] ?? "")]),
);
