import { defined } from "../../lib/defined.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { lineVerb, quietVerb, tableVerb } from "./verb-kinds.ts";

const create = lineVerb({
  summary: "save a running sandbox with its memory and processes, and print the checkpoint's id",
  usage: "SANDBOX [NAME]",
  about:
    "Requires the engine gvisor; caisson snapshot create saves the files of any sandbox. The sandbox keeps running.",
  call: async (call) => (await namedSandbox(call)).checkpoint(call.words[1]),
  line: ({ id }) => id,
});

const list = tableVerb({
  summary: "list checkpoints, newest first",
  options: {
    sandbox: {
      type: "string",
      value: "SANDBOX",
      help: "only checkpoints of this sandbox, which may already be destroyed",
    },
  },
  call: ({ caisson, options }) => caisson.checkpoints.list(defined({ sandbox_id: options.text("sandbox") })),
  headings: ["ID", "SANDBOX", "SAVED", "MB", "NAME"],
  rows: (found) => found.map((one) => [one.id, one.sandbox_id, tellTime(one.created_at), one.memory_mb, one.name]),
});

const restore = lineVerb({
  summary: "create a sandbox from a checkpoint and print its id",
  usage: "CHECKPOINT",
  call: async ({ caisson }, id) => (await caisson.checkpoints.restore(id)).info,
  line: ({ id }) => id,
});

const remove = quietVerb("delete a checkpoint and its encryption key", "CHECKPOINT", ({ caisson }, id) =>
  caisson.checkpoints.delete(id),
);

export const checkpointVerbs: Record<string, Verb> = {
  "checkpoint create": create,
  "checkpoint list": list,
  "checkpoint restore": restore,
  "checkpoint rm": remove,
};
