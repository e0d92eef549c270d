import type { ApiKeyInfo, Role } from "@caisson/sdk";
import { defined } from "../../lib/defined.ts";
import { tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, quietVerb, tableVerb } from "./verb-kinds.ts";

const create = lineVerb({
  summary: "create an API key and print it (shown only once)",
  usage: "NAME",
  options: {
    role: { type: "string", value: "ROLE", help: "viewer, agent, operator or admin (default: agent)" },
    scope: {
      type: "string",
      multiple: true,
      value: "SCOPE",
      help: "limit the key to read, use, operate, administer, unmask, server:ID or server:ID:TOOL; repeatable (default: all that its role may do)",
    },
    expires: { type: "string", value: "SECONDS", help: "lifetime of the key (default: unlimited)" },
    for: { type: "string", value: "NAMESPACE", help: "namespace of the key (default: the caller's own)" },
  },
  call: ({ caisson, options }, name) => {
    const scopes = options.texts("scope");
    return caisson.keys.create(
      defined({
        name,
        role: (options.text("role") ?? "agent") as Role,
        namespace: options.text("for"),
        scopes: scopes.length === 0 ? undefined : scopes,
        expires_in_seconds: options.number("expires"),
      }),
    );
  },
  line: ({ key }) => key,
});

const list = tableVerb({
  summary: "list API keys without their values",
  options: { all: { type: "boolean", help: "keys of all namespaces" } },
  call: ({ caisson, options }) => caisson.keys.list(options.flag("all") ? { all_namespaces: true } : {}),
  headings: ["ID", "ROLE", "SCOPES", "NAMESPACE", "STATE", "NAME"],
  rows: (found) =>
    found.map((key) => [key.id, key.role, key.scopes?.join(",") ?? "all", key.namespace, stateOf(key), key.name]),
});

function stateOf({ revoked_at, expires_at }: ApiKeyInfo): string {
  if (revoked_at !== null) return "revoked";
  return expires_at === null ? "valid" : `until ${tellTime(expires_at)}`;
}

const revoke = quietVerb("revoke an API key immediately", "ID", ({ caisson }, id) => caisson.keys.revoke(id));

export const keyVerbs: Record<string, Verb> = { "keys create": create, "keys list": list, "keys rm": revoke };
