import { AppError } from "../../core/errors.ts";
import { tellJson } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { tableVerb } from "./verb-kinds.ts";

/** Reads FIELD=VALUE. A value that is valid JSON is parsed: `limit=5`, `name=x`, `packages=["a"]`. */
function readArgument(given: string): [string, unknown] {
  const at = given.indexOf("=");
  if (at <= 0) throw new AppError("invalid", `invalid argument '${given}'`, { hint: "write FIELD=VALUE" });
  const text = given.slice(at + 1);
  try {
    return [given.slice(0, at), JSON.parse(text)];
  } catch {
    return [given.slice(0, at), text];
  }
}

/** Reads arguments of a tool, each FIELD=VALUE. */
export function readArguments(given: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(given.map(readArgument));
}

const tool: Verb = {
  summary: "call an agent tool by name",
  usage: "NAME [FIELD=VALUE…]",
  about: "A value that is valid JSON is parsed: limit=5, packages='[\"a\"]'. Any other value is text.",
  words: [1, 64],
  run: async ({ caisson, words, io }) => {
    const [name = "", ...given] = words;
    const { result } = await caisson.tools.call(name, readArguments(given));
    return tellJson(io, result);
  },
};

const tools = tableVerb({
  summary: "list the agent tools",
  call: ({ caisson }) => caisson.tools.list("all"),
  headings: ["NAME", "SETS", "TITLE"],
  rows: (found) => found.map(({ name, sets, title }) => [name, sets.join(","), title]),
});

export const toolVerbs: Record<string, Verb> = { tool, tools };
