import { defined } from "../../core/defined.ts";
import type { MemoryChoice } from "../../core/fork.ts";
import { memoryChoices } from "../../core/fork.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb } from "./verb.ts";

const fork: Verb = {
  summary: "copy a sandbox with what runs in it, and print the copies' ids",
  usage: "SANDBOX",
  words: [1, 1],
  about:
    "On the engine gvisor with variables, processes and open files; elsewhere with the files, which the last line says.",
  options: {
    count: { type: "string", value: "N", help: "how many copies, 1 to 16; 1 unless given" },
    memory: { type: "string", value: memoryChoices.join("|"), help: "with what runs in it, or only the files" },
  },
  run: async (call) => {
    const { options, io, json } = call;
    const memory = options.text("memory") as MemoryChoice | undefined;
    const made = await (await namedSandbox(call)).fork(defined({ count: options.number("count"), memory }));
    if (json) return tellJson(io, { ...made, sandboxes: made.sandboxes.map(({ info }) => info) });
    for (const { id } of made.sandboxes) tellLine(io, id);
    if (made.why !== null) io.stderr.write(`caisson: files alone: ${made.why}\n`);
    return 0;
  },
};

export const forkVerbs: Record<string, Verb> = { fork };
