import { AppError } from "../../core/errors.ts";
import { languages } from "../../core/language.ts";
import { defined } from "../../lib/defined.ts";
import { limitOptions, megabytes } from "./limit-options.ts";
import { tellJson } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { lineVerb } from "./verb-kinds.ts";

const create = lineVerb({
  summary: "create a session, whose interpreter keeps its variables, and print its id",
  options: {
    id: { type: "string", value: "SESSION", help: "session id (default: generated)" },
    language: { type: "string", short: "l", value: "NAME", help: languages.join(", ") },
    ...limitOptions,
  },
  call: async ({ caisson, options }) => {
    const input = defined({
      session_id: options.text("id"),
      language: options.text("language"),
      memory_mb: megabytes(options, "memory"),
      cpus: options.number("cpus"),
      max_processes: options.number("processes"),
    });
    return (await caisson.tools.call<{ session_id: string }>("create_session", input)).result;
  },
  line: ({ session_id }) => session_id,
});

/** Refuses text that is not JSON instead of taking it as a string. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError("invalid", `invalid JSON value: ${text.slice(0, 80)}`, { hint: `write text as '"text"'` });
  }
}

const bridge: Verb = {
  summary: "set a session's variable to a JSON value, copy it from another session, or print it",
  usage: "SESSION KEY [JSON]",
  words: [2, 3],
  options: {
    language: { type: "string", short: "l", value: "NAME", help: "python or node (default: the session's language)" },
    from: { type: "string", value: "SESSION", help: "copy the variable from this session" },
    "from-language": { type: "string", value: "NAME", help: "language of that session: python or node" },
    "from-key": { type: "string", value: "KEY", help: "name of the variable in that session" },
  },
  run: async ({ caisson, words: [session_id, key, text], options, io, json }) => {
    const input = defined({
      session_id,
      key,
      value: text === undefined ? undefined : readJson(text),
      language: options.text("language"),
      from_session: options.text("from"),
      from_language: options.text("from-language"),
      from_key: options.text("from-key"),
    });
    const { result } = await caisson.tools.call<{ action: string; value?: unknown }>("bridge_data", input);
    if (json) return tellJson(io, result);
    return result.action === "read" ? tellJson(io, result.value) : 0;
  },
};

export const sessionVerbs: Record<string, Verb> = { "session create": create, bridge };
