import { AppError } from "../../core/errors.ts";
import { namedValues } from "../named-values.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";
import { tableVerb } from "./verb-kinds.ts";

const most = 256;

const list = tableVerb({
  summary: "list the environment variables of a sandbox; secrets are not included",
  usage: "SANDBOX",
  call: async (call) => (await namedSandbox(call)).env(),
  headings: ["NAME", "VALUE"],
  rows: Object.entries,
});

/** Reads, changes and writes the variables. Of two concurrent changes the later one wins. */
async function change(call: VerbCall, act: (env: Record<string, string>) => Record<string, string>): Promise<number> {
  const sandbox = await namedSandbox(call);
  const env = act(await sandbox.env());
  await sandbox.change({ env });
  return call.json ? tellJson(call.io, env) : 0;
}

const set: Verb = {
  summary: "set environment variables of a sandbox for later runs; for secrets, use caisson vault add",
  usage: "SANDBOX NAME=VALUE…",
  words: [2, most],
  run: (call) => change(call, (env) => ({ ...env, ...namedValues(call.words.slice(1), "env") })),
};

const unset: Verb = {
  summary: "remove environment variables of a sandbox",
  usage: "SANDBOX NAME…",
  words: [2, most],
  run: (call) =>
    change(call, (env) => {
      const names = call.words.slice(1);
      const missing = names.find((name) => !Object.hasOwn(env, name));
      if (missing !== undefined) throw new AppError("not_found", `unknown variable '${missing}'`);
      return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
    }),
};

export const envVerbs: Record<string, Verb> = { "env list": list, "env set": set, "env rm": unset };
