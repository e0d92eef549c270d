import type { EgressAllow, EgressPolicy, EgressRule, NamespaceEgress } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { readRuleText } from "../../egress/rule-text.ts";
import { defined } from "../../lib/defined.ts";
import { agrees } from "../agree.ts";
import type { OptionSpecs, ParsedOptions } from "../options.ts";
import { visible } from "../terminal.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";
import { tableVerb } from "./verb-kinds.ts";

const sandboxOption = {
  sandbox: { type: "string", short: "s", value: "ID", help: "rules of this sandbox (default: of the whole namespace)" },
} as const satisfies OptionSpecs;

const kindOptions = {
  deny: { type: "boolean", help: "deny rules; they override all other rules" },
  agents: { type: "boolean", help: "rules that agents may add for their own sandboxes without approval" },
} as const satisfies OptionSpecs;

const conditionOptions = {
  range: { type: "string", multiple: true, value: "CIDR", help: "private network that the domain may resolve to" },
  inspect: { type: "boolean", help: "inspect TLS" },
  method: { type: "string", multiple: true, value: "NAME", help: "only requests with this HTTP method" },
  path: { type: "string", multiple: true, value: "PATH", help: "only requests for this path; may end in *" },
  "upload-ask": { type: "string", value: "SIZE", help: "require approval to upload more than this on one connection" },
} as const satisfies OptionSpecs;

const kindOf = (options: ParsedOptions) =>
  options.flag("deny") ? "deny" : options.flag("agents") ? "agents_may_allow" : "allow";

/** An object if there are conditions; otherwise the text, which the daemon parses. */
function toRule(text: string, options: ParsedOptions): EgressRule {
  const some = (name: string) => (options.texts(name).length === 0 ? undefined : options.texts(name));
  const conditions = defined({
    ranges: some("range"),
    inspect: options.flag("inspect") || undefined,
    methods: some("method"),
    paths: some("path"),
    upload_ask_bytes: options.size("upload-ask"),
  });
  if (Object.keys(conditions).length === 0) return text;
  return { ...(readRuleText(text) as Exclude<EgressRule, string>), ...conditions };
}

interface Changing extends VerbCall {
  change: { add?: Record<string, EgressRule[]>; remove?: Record<string, string[]> };
}

/** Changes the policy of the namespace, or of the sandbox in --sandbox, and prints the result. */
async function apply({ caisson, options, io, json, change }: Changing): Promise<number> {
  const id = options.text("sandbox");
  if (id === undefined) {
    const policy = await caisson.egress.changePolicy(change);
    return json ? tellJson(io, policy) : tellPolicies(io, [["namespace", policy]]);
  }
  const sandbox = await caisson.getSandbox(id);
  const { policy } = await sandbox.egress.change(change);
  return json ? tellJson(io, policy) : tellPolicies(io, [["sandbox", policy]]);
}

/** A name without a dot is usually a mistake: `egress add foo` for `egress add foo.com`. */
async function checkDots({ words, options, io }: VerbCall): Promise<void> {
  if (options.flag("yes")) return;
  const bare = words.find((text) => !/[.:[]/.test(readRuleText(text).host));
  if (bare === undefined) return;
  const what = `'${visible(bare)}' has no dot, so it is a host of the local network`;
  if (await agrees(`${what}. Allow it?`, io)) return;
  throw new AppError("invalid", what, { hint: "write the full name, such as api.example.com, or add --yes" });
}

const approve: Verb = {
  summary: "allow sandboxes to connect to a domain",
  usage: "RULE…",
  about:
    "A rule is NAME[:PORT][/PROTOCOL]: api.example.com (port 443, TLS), *.example.com, db.example.com:5432. Protocols:\n" +
    "tls, http, tcp. Running sandboxes use the new rules immediately.",
  words: [1, 100],
  options: {
    ...sandboxOption,
    ...kindOptions,
    ...conditionOptions,
    yes: { type: "boolean", short: "y", help: "do not ask before allowing a name without a dot" },
  },
  run: async (call) => {
    if (kindOf(call.options) !== "deny") await checkDots(call);
    const rules = call.words.map((text) => toRule(text, call.options));
    return apply({ ...call, change: { add: { [kindOf(call.options)]: rules } } });
  },
};

const remove: Verb = {
  summary: "remove rules and close connections that only they allowed",
  usage: "RULE…",
  words: [1, 100],
  options: { ...sandboxOption, ...kindOptions },
  run: (call) => apply({ ...call, change: { remove: { [kindOf(call.options)]: call.words } } }),
};

const list: Verb = {
  summary: "list the network rules of the namespace, or of one sandbox",
  usage: "",
  words: [0, 0],
  options: sandboxOption,
  run: async ({ caisson, options, io, json }) => {
    const id = options.text("sandbox");
    if (id === undefined) {
      const policy = await caisson.egress.policy();
      return json ? tellJson(io, policy) : tellPolicies(io, [["namespace", policy]]);
    }
    const found = await (await caisson.getSandbox(id)).egress.get();
    if (json) return tellJson(io, found);
    return tellPolicies(
      io,
      found.effective.map((one) => [one.layer, one]),
    );
  },
};

const set: Verb = {
  summary: "replace the network policy of the namespace, or of one sandbox",
  usage: "",
  words: [0, 0],
  options: {
    ...sandboxOption,
    allow: { type: "string", multiple: true, value: "RULE", help: "allow connections to a domain" },
    deny: { type: "string", multiple: true, value: "RULE", help: "block a domain, even if another rule allows it" },
    agents: { type: "string", multiple: true, value: "RULE", help: "rule that agents may add without approval" },
    unknown: { type: "string", value: "deny|ask", help: "how to handle hosts that match no rule" },
    rate: {
      type: "string",
      value: "SIZE",
      help: "bandwidth limit per second, in each direction, of all connections together",
    },
  },
  run: async ({ caisson, options, io, json }) => {
    const id = options.text("sandbox");
    const unknown = options.text("unknown") as "ask" | undefined;
    const common = { allow: options.texts("allow"), deny: options.texts("deny") };
    const asked = { ...common, ...defined({ unknown, bytes_per_second: options.size("rate") }) };
    if (id === undefined) {
      const policy = await caisson.egress.setPolicy({ ...asked, agents_may_allow: options.texts("agents") });
      return json ? tellJson(io, policy) : tellPolicies(io, [["namespace", policy]]);
    }
    if (options.texts("agents").length > 0)
      throw new AppError("invalid", "--agents applies to namespaces only", { hint: "omit --sandbox" });
    const { policy } = await (await caisson.getSandbox(id)).egress.set(asked);
    return json ? tellJson(io, policy) : tellPolicies(io, [["sandbox", policy]]);
  },
};

const explain: Verb = {
  summary: "show whether a connection would be allowed, and by which rule",
  usage: "NAME[:PORT]",
  words: [1, 1],
  options: {
    sandbox: { type: "string", short: "s", value: "ID", help: "check this sandbox (default: a new sandbox)" },
  },
  run: async ({ caisson, options, words, io, json }) => {
    const { host, port } = readDestination(words[0] ?? "");
    const found = await caisson.egress.explain({ host, port, ...defined({ sandbox_id: options.text("sandbox") }) });
    if (json) return tellJson(io, found);
    const by = found.rule === null ? "" : `: rule ${found.rule} of the ${found.layer}`;
    tellLine(io, `${found.action} ${found.host}:${found.port}${by || `: ${found.reason}`}`);
    if (found.rules.length === 0) return 0;
    const rows = found.rules.map((one) => [one.layer, one.effect, one.rule, one.applies ? "yes" : "another port"]);
    return tellTable(io, ["LAYER", "EFFECT", "RULE", "APPLIES"], rows);
  },
};

const log = tableVerb({
  summary: "list connection attempts, newest first",
  options: {
    sandbox: { type: "string", short: "s", value: "ID", help: "only attempts of this sandbox" },
    verdict: { type: "string", value: "WORD", help: "only attempts with this verdict: allowed, denied or failed" },
    limit: { type: "string", value: "N", help: "maximum number of attempts" },
  },
  call: ({ caisson, options }) => {
    const verdict = options.text("verdict") as "denied" | undefined;
    const query = { sandbox_id: options.text("sandbox"), verdict, limit: options.number("limit") };
    return caisson.egress.log(defined(query));
  },
  headings: ["TIME", "SANDBOX", "VERDICT", "TO", "BY", "UP", "DOWN", "MS"],
  rows: (found) =>
    found.map((one) => [
      ...[tellTime(one.started_at), one.sandbox_id, one.verdict, `${one.host}:${one.port}`, one.rule ?? one.reason],
      ...[one.bytes_up, one.bytes_down, one.duration_ms],
    ]),
});

/** `api.example.com`, `api.example.com:80`, `[::1]:80`. */
function readDestination(text: string): { host: string; port: number } {
  const [, host = text, port] = /^(\[.*\]|[^:]*):(\d{1,5})$/.exec(text) ?? [];
  return { host, port: port === undefined ? 443 : Number(port) };
}

function tellPolicies(io: VerbCall["io"], policies: (readonly [string, EgressPolicy | NamespaceEgress])[]): number {
  const rows = policies.flatMap(([layer, policy]) => [
    ...policy.deny.map(({ rule }) => [layer, "deny", rule, null]),
    ...policy.allow.map((rule) => [layer, "allow", rule.rule, conditionsOf(rule)]),
    ...("agents_may_allow" in policy
      ? policy.agents_may_allow.map((rule) => [layer, "agents may allow", rule.rule, conditionsOf(rule)])
      : []),
    ...(policy.unknown === null ? [] : [[layer, "unmatched hosts", policy.unknown, null]]),
    ...(policy.bytes_per_second === null ? [] : [[layer, "bytes per second", policy.bytes_per_second, null]]),
  ]);
  return tellTable(io, ["LAYER", "EFFECT", "RULE", "CONDITIONS"], rows);
}

function conditionsOf({ ranges, inspect, methods, paths, upload_ask_bytes: ask }: EgressAllow): string | null {
  const words = [
    ...(ranges ?? []),
    ...(inspect === true ? ["inspect"] : []),
    ...(methods ?? []),
    ...(paths ?? []),
    ...(ask === undefined ? [] : [`approval above ${ask} bytes uploaded`]),
  ];
  return words.length === 0 ? null : words.join(" ");
}

export const egressVerbs: Record<string, Verb> = {
  egress: approve,
  "egress list": list,
  "egress explain": explain,
  "egress rm": remove,
  "egress set": set,
  "egress log": log,
};
