import { sandboxLimits } from "../../core/limits.ts";
import { writeOut } from "../write-out.ts";
import { namedSandbox } from "./sandboxes.ts";
import { tellJson, tellLine, tellTime } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { quietVerb, tableVerb } from "./verb-kinds.ts";

const start: Verb = {
  summary: "start a background process in a sandbox and print its id",
  usage: "SANDBOX COMMAND [ARGS…]",
  words: [2, sandboxLimits.arguments],
  run: async (call) => {
    const sandbox = await namedSandbox(call);
    const command = call.words.slice(1);
    const { info } = await sandbox.processes.start(command.length === 1 ? (command[0] ?? "") : command);
    return call.json ? tellJson(call.io, info) : tellLine(call.io, info.id);
  },
};

const list = tableVerb({
  summary: "list the background processes of a sandbox",
  usage: "SANDBOX",
  call: async (call) => (await (await namedSandbox(call)).processes.list()).map(({ info }) => info),
  headings: ["ID", "STATE", "EXIT", "STARTED", "COMMAND"],
  rows: (found) =>
    found.map(({ id, state, result, started_at, command }) => [
      ...[id, state, result?.exit_code, tellTime(started_at), command.join(" ").slice(0, 80)],
    ]),
});

const logs: Verb = {
  summary: "print the output of a background process, and follow it until the process ends",
  usage: "SANDBOX PROCESS",
  words: [2, 2],
  options: {
    stderr: { type: "boolean", help: "print standard error instead of standard output" },
    "no-follow": { type: "boolean", help: "print only the output so far" },
  },
  run: async (call) => {
    const process = await (await namedSandbox(call)).processes.get(call.words[1] ?? "");
    const channel = call.options.flag("stderr") ? "stderr" : "stdout";
    if (call.options.flag("no-follow")) {
      for (let offset = 0; ; ) {
        const piece = await process.read({ channel, offset });
        if (piece.next_offset === offset || !(await writeOut(call.io.stdout, piece.data))) return 0;
        offset = piece.next_offset;
      }
    }
    for await (const message of process.output({ channel })) {
      if (message.type === "exit") return message.result?.exit_code ?? 0;
      if (!(await writeOut(call.io.stdout, message.data))) break;
    }
    return 0;
  },
};

const kill = quietVerb(
  "kill a background process and its child processes",
  "SANDBOX PROCESS",
  async (call, _, process) => (await (await namedSandbox(call)).processes.get(process)).kill(),
);

export const processVerbs: Record<string, Verb> = { "ps start": start, ps: list, logs, kill };
