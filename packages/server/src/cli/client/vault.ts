import type { SecretBinding, SecretDelivery, SecretInfo, SecretTarget } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { defined } from "../../lib/defined.ts";
import type { OptionSpecs, ParsedOptions } from "../options.ts";
import { readSecret } from "../read-secret.ts";
import { tellJson, tellLine, tellTable } from "./tell.ts";
import { quiet, type Verb } from "./verb.ts";

const bindOptions = {
  sandbox: { type: "string", value: "ID", help: "to this one" },
  key: { type: "string", value: "ID", help: "to all that are created with this API key" },
  all: { type: "boolean", help: "to all of the namespace" },
  env: {
    type: "string",
    value: "VARIABLE",
    help: "as this environment variable; with --header, where its placeholder is",
  },
  header: {
    type: "string",
    value: "NAME",
    help: "only as this header of requests to --host; code never sees the value",
  },
  host: { type: "string", multiple: true, value: "NAME", help: "whose requests get the header" },
  format: { type: "string", value: "TEXT", help: "the header's value, with {} for the secret's; e.g. 'Bearer {}'" },
} as const satisfies OptionSpecs;

const add: Verb = {
  summary: "put a secret, and give it to sandboxes; its value is asked for, or read from standard input",
  usage: "NAME [VALUE]",
  words: [1, 2],
  options: {
    ...bindOptions,
    unbound: { type: "boolean", help: "give it to no sandbox yet: caisson vault bind does so later" },
    expires: { type: "string", value: "SECONDS", help: "when its value is destroyed; never unless given" },
    uses: { type: "string", value: "N", help: "to how many sandboxes it may be given; to any number unless given" },
  },
  about: [
    "A new secret is the variable NAME in all sandboxes of the namespace, unless options say otherwise. Code can use it, and its value is",
    "masked in all that leaves a sandbox. Another value for a secret that is there changes no binding.",
    "A VALUE among the arguments can be seen by others on this machine while the command runs, and in the shell's history.",
  ].join("\n"),
  run: async ({ caisson, options, words: [name = "", given], io, json }) => {
    if (given !== undefined)
      io.stderr.write(
        "caisson: warning: arguments can be seen by others on this machine: leave the value out to be asked\n",
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

const list: Verb = {
  summary: "list secrets and whom they are bound to, without their values",
  usage: "",
  words: [0, 0],
  run: async ({ caisson, io, json }) => {
    const found = await caisson.secrets.list();
    if (json) return tellJson(io, found);
    const rows = found.flatMap((one) => {
      const own = [one.name, one.version, one.state, one.uses_left ?? "any"];
      if (one.bindings.length === 0) return [[...own, "-", "-", "-"]];
      return one.bindings.map((bound) => [...own, showTarget(bound), showDelivery(one.name, bound), bound.id]);
    });
    return tellTable(io, ["NAME", "VERSION", "STATE", "USES", "BOUND TO", "AS", "BINDING"], rows);
  },
};

function showTarget({ target }: SecretBinding): string {
  if ("sandbox_id" in target) return `sandbox ${target.sandbox_id}`;
  return "key_id" in target ? `key ${target.key_id}` : "all";
}

function showDelivery(name: string, { deliver }: SecretBinding): string {
  if (deliver.as === "file") return `/run/secrets/${name}`;
  if (deliver.as === "env") return `$${deliver.variable}`;
  return `${deliver.header} at ${deliver.hosts.join(",")}, $${deliver.variable}`;
}

const remove = quiet("delete a secret; running sandboxes lose it", ["NAME"], ({ caisson }, name) =>
  caisson.secrets.delete(name),
);

const bind: Verb = {
  summary: "give a secret to sandboxes, as the file /run/secrets/NAME unless told otherwise; prints the binding's id",
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
          `caisson: warning: code still has the value itself, ${showBinding(name, open)}: caisson vault unbind ${name} ${open.id} ends that\n`,
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
    throw new AppError("invalid", "to whom?", { hint: "one of --sandbox ID, --key ID and --all" });
  if (sandbox !== undefined) return { sandbox_id: sandbox };
  return key !== undefined ? { key_id: key } : { all: true };
}

function deliveryOf(name: string, options: ParsedOptions, usual: SecretDelivery = { as: "file" }): SecretDelivery {
  const [variable, header, hosts] = [options.text("env"), options.text("header"), options.texts("host")];
  if (header === undefined && (hosts.length > 0 || options.text("format") !== undefined))
    throw new AppError("invalid", "--host and --format go with --header");
  if (header !== undefined)
    return { as: "header", header, hosts, variable: variable ?? name, ...defined({ format: options.text("format") }) };
  return variable === undefined ? usual : { as: "env", variable };
}

const unbind = quiet(
  "take a binding away; sandboxes lose the secret",
  ["NAME", "BINDING"],
  async ({ caisson }, name, binding) => void (await caisson.secrets.unbind(name, binding)),
);

const rotate: Verb = {
  summary: "make a new master key, and wrap all secrets with it",
  usage: "",
  words: [0, 0],
  run: async ({ caisson, io, json }) => {
    const done = await caisson.secrets.rotate();
    return json ? tellJson(io, done) : tellLine(io, `${done.rewrapped} wrapped anew`);
  },
};

export const vaultVerbs: Record<string, Verb> = {
  "vault add": add,
  "vault list": list,
  "vault rm": remove,
  "vault bind": bind,
  "vault unbind": unbind,
  "vault rotate": rotate,
};
