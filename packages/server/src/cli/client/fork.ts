import type { MemoryChoice } from "../../core/fork.ts";
import { memoryChoices } from "../../core/fork.ts";
import { defined } from "../../lib/defined.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb } from "./verb.ts";

const fork: Verb = {
  summary: "copy a sandbox, including its processes, and print the ids of the copies",
  usage: "SANDBOX",
  words: [1, 1],
  about:
    "On the engine gvisor, a copy has the variables, processes and open files of the sandbox. On other engines it has only the\n" +
    "files, and a line on standard error says so.",
  options: {
    count: { type: "string", value: "N", help: "number of copies, 1 to 16 (default: 1)" },
    memory: {
      type: "string",
      value: memoryChoices.join("|"),
      help: "auto copies memory if possible, required fails if not, never copies only files (default: auto)",
    },
  },
  run: async (call) => {
    const { options, io, json } = call;
    const memory = options.text("memory") as MemoryChoice | undefined;
    const made = await (await namedSandbox(call)).fork(defined({ count: options.number("count"), memory }));
    if (json) return tellJson(io, { ...made, sandboxes: made.sandboxes.map(({ info }) => info) });
    for (const { id } of made.sandboxes) tellLine(io, id);
    if (made.why !== null) io.stderr.write(`caisson: only files were copied: ${made.why}\n`);
    return 0;
  },
};

export const forkVerbs: Record<string, Verb> = { fork };
