import { AppError } from "../core/errors.ts";
import { nearMiss } from "../lib/near-miss.ts";
import { clientVerbs } from "./client/verbs.ts";
import { commands } from "./help.ts";

const firstWords = [...new Set([...Object.keys(commands), ...Object.keys(clientVerbs).map((name) => firstWord(name))])];

function firstWord(name: string): string {
  return name.split(" ", 1)[0] ?? "";
}

/** Suggests the command that was probably meant. */
export function unknownCommand(verb: string): AppError {
  return refuse(verb, nearMiss(verb, firstWords), "caisson --help lists the commands");
}

/** Refuses a word after a group such as `keys`; `names` are the commands of the group. */
export function unknownInGroup(group: string, word: string, names: readonly string[]): AppError {
  const asked = `${group} ${word}`;
  return refuse(asked, nearMiss(asked, names), names.map((name) => `caisson ${name}`).join(", "));
}

function refuse(asked: string, meant: string | undefined, otherwise: string): AppError {
  const hint = meant === undefined ? otherwise : `did you mean caisson ${meant}?`;
  return new AppError("invalid", `unknown command '${asked}'`, { hint });
}
