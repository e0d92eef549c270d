import { createInterface } from "node:readline";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { root } from "../harness.ts";
import type { Question } from "./owner.ts";

/** An owner in a process of its own: answers questions, one a line, until somebody kills it. */
const caisson = openCaisson({ home: process.argv[2] ?? "", root });
const sandboxes = new Map<string, Sandbox>();

function sandbox(id: string): Sandbox {
  const found = sandboxes.get(id);
  if (found === undefined) throw new Error(`${id} is not owned here`);
  return found;
}

async function answer(question: Question): Promise<unknown> {
  switch (question.ask) {
    case "create": {
      const limits = { memoryBytes: 64 * 1024 ** 2, storageBytes: 16 * 1024 ** 2 };
      const made = await caisson.createSandbox({ engine: question.engine, keep: question.keep ?? true, limits });
      sandboxes.set(made.id, made);
      return made.id;
    }
    case "attach": {
      const attached = await caisson.attachSandbox(question.id);
      sandboxes.set(attached.id, attached);
      return attached.paused;
    }
    case "start": {
      const { id, command, stdin = false } = question;
      return (await sandbox(id).processes.start({ command, stdin })).id;
    }
    case "pause":
      return sandbox(question.id).pause();
    case "wait":
      return sandbox(question.id).processes.get(question.process).wait();
    case "info":
      return sandbox(question.id).processes.get(question.process).info();
    case "write":
      return sandbox(question.id).processes.get(question.process).write(question.text);
    case "closeInput":
      return sandbox(question.id).processes.get(question.process).closeInput();
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { number, question } = JSON.parse(line) as { number: number; question: Question };
  answer(question).then(
    (value) => console.log(JSON.stringify({ number, value })),
    (error: { code?: string; message?: string }) =>
      console.log(JSON.stringify({ number, error: { code: error.code, message: error.message } })),
  );
});
