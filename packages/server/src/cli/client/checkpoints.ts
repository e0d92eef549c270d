import { defined } from "../../lib/defined.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellLine, tellTable, tellTime } from "./tell.ts";
import { quiet, type Verb } from "./verb.ts";

const create: Verb = {
  summary: "save a running sandbox with its memory and processes, and print the checkpoint's id",
  usage: "SANDBOX [NAME]",
  words: [1, 2],
  about:
    "Requires the engine gvisor; caisson snapshot create saves the files of any sandbox. The sandbox keeps running.",
  run: async (call) => {
    const made = await (await namedSandbox(call)).checkpoint(call.words[1]);
    return call.json ? tellJson(call.io, made) : tellLine(call.io, made.id);
  },
};

const list: Verb = {
  summary: "list checkpoints, newest first",
  usage: "",
  words: [0, 0],
  options: {
    sandbox: {
      type: "string",
      value: "SANDBOX",
      help: "only checkpoints of this sandbox, which may already be destroyed",
    },
  },
  run: async ({ caisson, io, json, options }) => {
    const found = await caisson.checkpoints.list(defined({ sandbox_id: options.text("sandbox") }));
    if (json) return tellJson(io, found);
    const rows = found.map((one) => [one.id, one.sandbox_id, tellTime(one.created_at), one.memory_mb, one.name]);
    return tellTable(io, ["ID", "SANDBOX", "SAVED", "MB", "NAME"], rows);
  },
};

const restore: Verb = {
  summary: "create a sandbox from a checkpoint and print its id",
  usage: "CHECKPOINT",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const { id, info } = await caisson.checkpoints.restore(words[0] ?? "");
    return json ? tellJson(io, info) : tellLine(io, id);
  },
};

const remove = quiet("delete a checkpoint and its encryption key", ["CHECKPOINT"], ({ caisson }, id) =>
  caisson.checkpoints.delete(id),
);

export const checkpointVerbs: Record<string, Verb> = {
  "checkpoint create": create,
  "checkpoint list": list,
  "checkpoint restore": restore,
  "checkpoint rm": remove,
};
