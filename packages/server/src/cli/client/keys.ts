import type { Role } from "@caisson/sdk";
import { defined } from "../../lib/defined.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import { quiet, type Verb } from "./verb.ts";

const create: Verb = {
  summary: "create an API key and print it (shown only once)",
  usage: "NAME",
  words: [1, 1],
  options: {
    role: { type: "string", value: "ROLE", help: "viewer, agent, operator or admin (default: agent)" },
    expires: { type: "string", value: "SECONDS", help: "lifetime of the key (default: unlimited)" },
    for: { type: "string", value: "NAMESPACE", help: "namespace of the key (default: the caller's own)" },
  },
  run: async ({ caisson, options, words, io, json }) => {
    const made = await caisson.keys.create(
      defined({
        name: words[0] ?? "",
        role: (options.text("role") ?? "agent") as Role,
        namespace: options.text("for"),
        expires_in_seconds: options.number("expires"),
      }),
    );
    return json ? tellJson(io, made) : tellLine(io, made.key);
  },
};

const list: Verb = {
  summary: "list API keys without their values",
  usage: "",
  words: [0, 0],
  options: { all: { type: "boolean", help: "keys of all namespaces" } },
  run: async ({ caisson, options, io, json }) => {
    const found = await caisson.keys.list(options.flag("all") ? { all_namespaces: true } : {});
    if (json) return tellJson(io, found);
    const state = (key: (typeof found)[number]) => {
      if (key.revoked_at !== null) return "revoked";
      return key.expires_at === null ? "valid" : `until ${tellTime(key.expires_at)}`;
    };
    const rows = found.map((key) => [key.id, key.role, key.namespace, state(key), key.name]);
    return tellTable(io, ["ID", "ROLE", "NAMESPACE", "STATE", "NAME"], rows);
  },
};

const revoke = quiet("revoke an API key immediately", ["ID"], ({ caisson }, id) => caisson.keys.revoke(id));

export const keyVerbs: Record<string, Verb> = { "keys create": create, "keys list": list, "keys rm": revoke };
