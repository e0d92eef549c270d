import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/errors.ts";
import { languages } from "../../core/language.ts";
import { limitOptions, megabytes } from "./limit-options.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb } from "./verb.ts";

const create: Verb = {
  summary: "open a session with an interpreter whose variables live on, and print its id",
  usage: "",
  words: [0, 0],
  options: {
    id: { type: "string", value: "SESSION", help: "a name of your own choice; made up unless given" },
    language: { type: "string", short: "l", value: "NAME", help: languages.join(", ") },
    ...limitOptions,
  },
  run: async ({ caisson, options, io, json }) => {
    const input = defined({
      session_id: options.text("id"),
      language: options.text("language"),
      memory_mb: megabytes(options, "memory"),
      cpus: options.number("cpus"),
      max_processes: options.number("processes"),
    });
    const { result } = await caisson.tools.call<{ session_id: string }>("create_session", input);
    return json ? tellJson(io, result) : tellLine(io, result.session_id);
  },
};

/** Any JSON: what is none is told, not taken as text. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError("invalid", `the value is no JSON: ${text.slice(0, 80)}`, { hint: `text is '"text"'` });
  }
}

const bridge: Verb = {
  summary: "set a variable of a session to JSON, copy it from another, or print it",
  usage: "SESSION KEY [JSON]",
  words: [2, 3],
  options: {
    language: { type: "string", short: "l", value: "NAME", help: "python or node; the session's own unless given" },
    from: { type: "string", value: "SESSION", help: "copy the variable from there" },
    "from-language": { type: "string", value: "NAME", help: "python or node, likewise" },
    "from-key": { type: "string", value: "KEY", help: "the name that it has there" },
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
