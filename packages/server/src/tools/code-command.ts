import { type Command, sharedContext, toCommand } from "../core/command.ts";
import type { Language } from "../core/language.ts";
import { commandFields } from "../schemas/run.ts";

export const isStateful = ({ what }: Command): boolean => "code" in what && what.context !== undefined;

type Fields = Parameters<typeof commandFields>[0];

/** Code of an agent for an interpreter of its own, or for the one that its session keeps. */
export function codeCommand(code: string, language: Language, stateful: boolean, fields: Fields): Command {
  const asked = commandFields(fields);
  if (!stateful || language === "shell") return toCommand({ ...asked, what: { code, language } });
  return toCommand({ ...asked, what: { code, language, context: sharedContext } });
}
