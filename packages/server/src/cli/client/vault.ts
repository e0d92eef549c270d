import type { SecretBinding, SecretDelivery, SecretInfo, SecretTarget } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { defined } from "../../lib/defined.ts";
import type { OptionSpecs, ParsedOptions } from "../options.ts";
import { readSecret } from "../read-secret.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, quietVerb, tableVerb } from "./verb-kinds.ts";

const bindOptions = {
  sandbox: { type: "string", value: "ID", help: "make it available in this sandbox" },
  key: { type: "string", value: "ID", help: "make it available in sandboxes created with this API key" },
  all: { type: "boolean", help: "make it available in all sandboxes of the namespace" },
  env: {
    type: "string",
    value: "VARIABLE",
    help: "set it as this environment variable; with --header, the variable holds a placeholder",
  },
  header: {
    type: "string",
    value: "NAME",
    help: "insert it as this header into requests to --host; code never sees the value",
  },
  host: { type: "string", multiple: true, value: "NAME", help: "with --header: host whose requests get the header" },
  format: {
    type: "string",
    value: "TEXT",
    help: "with --header: its value, with {} in place of the secret, such as 'Bearer {}'",
  },
} as const satisfies OptionSpecs;

const add: Verb = {
  summary: "store a secret and make it available in sandboxes; reads the value from the terminal or standard input",
  usage: "NAME [VALUE]",
  words: [1, 2],
  options: {
    ...bindOptions,
    unbound: { type: "boolean", help: "only store it; caisson vault bind makes it available later" },
    expires: { type: "string", value: "SECONDS", help: "destroy the value after this time (default: never)" },
    uses: { type: "string", value: "N", help: "maximum number of sandboxes that may get it (default: unlimited)" },
  },
  about: [
    "A new secret is the environment variable NAME in all sandboxes of the namespace; options change that. Its value is masked in all",
    "output. A new value for an existing secret keeps its bindings.",
    "Other users of this machine can see a VALUE argument while the command runs, and it stays in the shell's history.",
  ].join("\n"),
  run: async ({ caisson, options, words: [name = "", given], io, json }) => {
    if (given !== undefined)
      io.stderr.write(
        "caisson: warning: other users of this machine can see arguments; omit VALUE to type the value instead\n",
      );
    const [target, deliver] = [
      targetOf(options, { all: true }),
      deliveryOf(name, options, { as: "env", variable: name }),
    ];
    const value = given === undefined ? await readSecret(io, name) : Buffer.from(given);
    const put = { expires_in_seconds: options.number("expires"), uses: options.number("uses") };
    const made = await caisson.secrets.put(name, value, defined(put)).finally(() => value.fill(0));
    for (const warning of made.warnings) io.stderr.write(`caisson: warning: ${warning}\n`);
    const isBound = made.bindings.length > 0 || made.version > 1 || options.flag("unbound");
    const shown = isBound ? made : await caisson.secrets.bind(name, target, deliver);
    if (json) return tellJson(io, { ...shown, warnings: made.warnings });
    await tellLine(io, `${made.name}: version ${made.version}`);
    for (const bound of shown.bindings) await tellLine(io, showBinding(name, bound));
    return 0;
  },
};

function showBinding(name: string, binding: SecretBinding): string {
  const target = showTarget(binding);
  const where = target === "all" ? "all sandboxes of the namespace" : target;
  return `in ${where} as ${showDelivery(name, binding)} (binding ${binding.id})`;
}

const list = tableVerb({
  summary: "list secrets and their bindings, without values",
  call: ({ caisson }) => caisson.secrets.list(),
  headings: ["NAME", "VERSION", "STATE", "USES", "BOUND TO", "AS", "BINDING"],
  rows: (found) =>
    found.flatMap((one) => {
      const own = [one.name, one.version, one.state, one.uses_left ?? "any"];
      if (one.bindings.length === 0) return [[...own, "-", "-", "-"]];
      return one.bindings.map((bound) => [...own, showTarget(bound), showDelivery(one.name, bound), bound.id]);
    }),
});

function showTarget({ target }: SecretBinding): string {
  if ("sandbox_id" in target) return `sandbox ${target.sandbox_id}`;
  return "key_id" in target ? `key ${target.key_id}` : "all";
}

function showDelivery(name: string, { deliver }: SecretBinding): string {
  if (deliver.as === "file") return `/run/secrets/${name}`;
  if (deliver.as === "env") return `$${deliver.variable}`;
  return `${deliver.header} at ${deliver.hosts.join(",")}, $${deliver.variable}`;
}

const remove = quietVerb("delete a secret; running sandboxes lose it", "NAME", ({ caisson }, name) =>
  caisson.secrets.delete(name),
);

const bind: Verb = {
  summary: "make a secret available in sandboxes (default: as the file /run/secrets/NAME) and print the binding's id",
  usage: "NAME",
  words: [1, 1],
  options: bindOptions,
  run: async ({ caisson, options, words: [name = ""], io, json }) => {
    const before = new Set((await caisson.secrets.get(name)).bindings.map(({ id }) => id));
    const deliver = deliveryOf(name, options);
    const bound = await caisson.secrets.bind(name, targetOf(options), deliver);
    if (deliver.as === "header")
      for (const open of bound.bindings.filter((one) => one.deliver.as !== "header"))
        io.stderr.write(
          `caisson: warning: code can still read the value ${showBinding(name, open)}; to end that: caisson vault unbind ${name} ${open.id}\n`,
        );
    return json ? tellJson(io, bound) : tellLine(io, newest(bound, before));
  },
};

function newest({ bindings }: SecretInfo, before: ReadonlySet<string>): string {
  return bindings.find(({ id }) => !before.has(id))?.id ?? "";
}

function targetOf(options: ParsedOptions, usual?: SecretTarget): SecretTarget {
  const [sandbox, key, all] = [options.text("sandbox"), options.text("key"), options.flag("all")];
  if (usual !== undefined && sandbox === undefined && key === undefined && !all) return usual;
  if ([sandbox !== undefined, key !== undefined, all].filter((given) => given).length !== 1)
    throw new AppError("invalid", "missing target of the secret", {
      hint: "add one of --sandbox ID, --key ID or --all",
    });
  if (sandbox !== undefined) return { sandbox_id: sandbox };
  return key !== undefined ? { key_id: key } : { all: true };
}

function deliveryOf(name: string, options: ParsedOptions, usual: SecretDelivery = { as: "file" }): SecretDelivery {
  const [variable, header, hosts] = [options.text("env"), options.text("header"), options.texts("host")];
  if (header === undefined && (hosts.length > 0 || options.text("format") !== undefined))
    throw new AppError("invalid", "--host and --format require --header");
  if (header !== undefined)
    return { as: "header", header, hosts, variable: variable ?? name, ...defined({ format: options.text("format") }) };
  return variable === undefined ? usual : { as: "env", variable };
}

const unbind = quietVerb(
  "remove a binding; its sandboxes lose the secret",
  "NAME BINDING",
  async ({ caisson }, name, binding) => void (await caisson.secrets.unbind(name, binding)),
);

const rotate = lineVerb({
  summary: "create a new master key and encrypt all secrets with it",
  call: ({ caisson }) => caisson.secrets.rotate(),
  line: ({ rewrapped }) => `${rewrapped} secrets encrypted with the new key`,
});

export const vaultVerbs: Record<string, Verb> = {
  "vault add": add,
  "vault list": list,
  "vault rm": remove,
  "vault bind": bind,
  "vault unbind": unbind,
  "vault rotate": rotate,
};
