import { ApiError, type Caisson, type CreateOptions, type Sandbox, type SandboxInfo } from "@caisson/sdk";
import { engineChoices } from "../../core/request.ts";
import { defined } from "../../lib/defined.ts";
import { namedValues } from "../named-values.ts";
import type { OptionSpecs, ParsedOptions } from "../options.ts";
import { engineOf } from "./engine-option.ts";
import { withImage } from "./first-use.ts";
import { limitOptions, megabytes } from "./limit-options.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";

const changeOptions = {
  ...limitOptions,
  idle: { type: "string", value: "SECONDS", help: "stop the sandbox after this time without use" },
  lifetime: { type: "string", value: "SECONDS", help: "destroy the sandbox at this age" },
  label: { type: "string", multiple: true, value: "NAME=VALUE", help: "label of the sandbox" },
  description: { type: "string", value: "TEXT", help: "what the sandbox is for, in one line" },
} as const satisfies OptionSpecs;

export const networkOptions = {
  "allow-domain": {
    type: "string",
    multiple: true,
    value: "RULE",
    help: "allow connections to a domain, such as api.example.com",
  },
  "deny-domain": {
    type: "string",
    multiple: true,
    value: "RULE",
    help: "block a domain, even if another rule allows it",
  },
  unknown: { type: "string", value: "deny|ask", help: "how to handle hosts that match no rule" },
} as const satisfies OptionSpecs;

const createOptions = {
  engine: { type: "string", short: "e", alias: "backend", value: "NAME", help: `engine: ${engineChoices.join(", ")}` },
  image: { type: "string", value: "NAME", help: "image to start from (default: host)" },
  template: {
    type: "string",
    short: "t",
    value: "NAME",
    help: "template to start from (image, files, packages and memory)",
  },
  storage: { type: "string", value: "SIZE", help: "workspace size limit" },
  env: {
    type: "string",
    multiple: true,
    value: "NAME=VALUE",
    help: "environment variable of every run in the sandbox",
  },
  session: { type: "string", value: "KEY", help: "session key; a key that exists returns its sandbox" },
  snapshot: { type: "string", value: "ID", help: "snapshot that fills the workspace" },
  ...networkOptions,
  input: { type: "string", value: "NAME", help: "copy a folder of the setting folders.input to ./input (read-only)" },
  output: { type: "string", value: "NAME", help: "copy ./output to a folder of folders.output on stop or destroy" },
  "keep-artifacts": {
    type: "string",
    value: "SECONDS",
    help: "keep ./output for this time after the sandbox is destroyed",
  },
  ...changeOptions,
} as const satisfies OptionSpecs;

/** Undefined if the option is not given: an empty record would replace the existing one. */
export function pairs(options: ParsedOptions, name: string): Record<string, string> | undefined {
  const rows = options.texts(name);
  return rows.length === 0 ? undefined : namedValues(rows, name);
}

/** Undefined if no network option is given. */
export function networkOf(options: ParsedOptions): CreateOptions["network"] {
  const [allow, deny] = [options.texts("allow-domain"), options.texts("deny-domain")];
  const unknown = options.text("unknown") as "ask" | undefined;
  if (allow.length + deny.length === 0 && unknown === undefined) return undefined;
  return { allow, deny, ...defined({ unknown }) };
}

const limitFields = (options: ParsedOptions) => ({
  memory_mb: megabytes(options, "memory"),
  cpus: options.number("cpus"),
  max_processes: options.number("processes"),
  idle_timeout_seconds: options.number("idle"),
  lifetime_seconds: options.number("lifetime"),
  labels: pairs(options, "label"),
  description: options.text("description"),
});

function tellSandbox({ io, json }: VerbCall, info: SandboxInfo): number {
  if (json) return tellJson(io, info);
  const rows = Object.entries(info).map(([name, value]) => [
    name,
    typeof value === "object" && value !== null ? JSON.stringify(value) : value,
  ]);
  return tellTable(io, ["FIELD", "VALUE"], rows);
}

export async function namedSandbox({ caisson, words }: VerbCall): Promise<Sandbox> {
  return caisson.getSandbox(words[0] ?? "");
}

const create: Verb = {
  summary: "create a sandbox and print its id",
  usage: "",
  words: [0, 0],
  options: createOptions,
  run: async (call) => {
    const { caisson, options, io, json } = call;
    const asked = defined({
      engine: engineOf(options),
      image: options.text("image"),
      template: options.text("template"),
      storage_mb: megabytes(options, "storage"),
      env: pairs(options, "env"),
      session_key: options.text("session"),
      snapshot_id: options.text("snapshot"),
      input_folder: options.text("input"),
      output_folder: options.text("output"),
      keep_artifacts_seconds: options.number("keep-artifacts"),
      network: networkOf(options),
      ...limitFields(options),
    });
    const { info } = await withImage(call, asked.image, () => caisson.createSandbox(asked));
    return json ? tellJson(io, info) : tellLine(io, info.id);
  },
};

const list: Verb = {
  summary: "list sandboxes, newest first",
  usage: "",
  words: [0, 0],
  options: {
    status: {
      type: "string",
      value: "STATE",
      help: "only sandboxes in this state: running, paused, stopped or failed",
    },
  },
  run: async ({ caisson, options, io, json }) => {
    const status = options.text("status") as SandboxInfo["status"] | undefined;
    const found: SandboxInfo[] = [];
    for await (const { info } of caisson.listSandboxes(defined({ status }))) found.push(info);
    if (json) return tellJson(io, found);
    return tellTable(
      io,
      ["ID", "STATUS", "ENGINE", "MEMORY", "CREATED", "SESSION", "DESCRIPTION"],
      found.map((info) => [
        info.id,
        info.status,
        info.engine,
        `${info.memory_mb} MB`,
        tellTime(info.created_at),
        info.session_key,
        info.description || null,
      ]),
    );
  },
};

const inspect: Verb = {
  summary: "show a sandbox or session: variables, environment (secrets masked), limits and timers",
  usage: "SANDBOX|SESSION",
  words: [1, 1],
  run: async (call) => {
    const { caisson, words } = call;
    const state = await stateOf(caisson, words[0] ?? "");
    const { info } = await caisson.getSandbox(state?.sandbox_id ?? words[0] ?? "");
    return tellSandbox(call, { ...info, ...state });
  },
};

/** Undefined for viewers, who may not inspect an interpreter. */
async function stateOf(caisson: Caisson, session_id: string): Promise<{ sandbox_id: string | null } | undefined> {
  try {
    return (await caisson.tools.call<{ sandbox_id: string | null }>("inspect_state", { session_id })).result;
  } catch (error) {
    if (error instanceof ApiError && error.code === "forbidden") return undefined;
    throw error;
  }
}

const update: Verb = {
  summary: "change the limits, timers, labels and description of a sandbox",
  usage: "SANDBOX",
  words: [1, 1],
  options: changeOptions,
  run: async (call) => tellSandbox(call, await (await namedSandbox(call)).change(defined(limitFields(call.options)))),
};

const destroy: Verb = {
  summary: "destroy sandboxes and wipe their workspaces",
  usage: "SANDBOX…",
  words: [1, 1_000],
  run: async ({ caisson, words, io, json }) => {
    for (const id of words) await (await caisson.getSandbox(id)).destroy();
    return json ? tellJson(io, {}) : 0;
  },
};

function move(name: "start" | "stop" | "pause" | "resume" | "reset", summary: string): Verb {
  return {
    summary,
    usage: "SANDBOX",
    words: [1, 1],
    run: async (call) => {
      const info = await (await namedSandbox(call))[name]();
      return call.json ? tellJson(call.io, info) : tellLine(call.io, info.status);
    },
  };
}

export const sandboxVerbs: Record<string, Verb> = {
  create,
  ls: list,
  inspect,
  update,
  rm: destroy,
  start: move("start", "start a stopped sandbox with its workspace"),
  stop: move("stop", "stop a sandbox and its processes; the workspace is kept"),
  pause: move("pause", "freeze all processes of a sandbox"),
  resume: move("resume", "resume a paused sandbox"),
  reset: move("reset", "stop all processes of a sandbox and empty its workspace"),
};
