import { parentPort } from "node:worker_threads";
import { AppError, messageOf } from "../core/errors.ts";
import type { Checked } from "./findings.ts";
import type { FromWorker, Task, TaskResult } from "./task.ts";

/** Each parser is loaded when it is first needed: ruff alone takes 100 MB. */
async function load(task: Task): Promise<() => TaskResult> {
  if (task.kind === "json") {
    const { validateJson } = await import("./json.ts");
    return () => validateJson(task.data, task.schema);
  }
  if (task.kind === "csv") {
    const { validateCsv } = await import("./csv.ts");
    return () => validateCsv(task);
  }
  const check = await loadChecker(task);
  return () => {
    const { found, ...rest } = check();
    return { findings: found.list(), truncated: found.truncated, ...rest };
  };
}

async function loadChecker({ language, code, policy, autoFix }: Task & { kind: "code" }): Promise<() => Checked> {
  switch (language) {
    case "python": {
      const { checkPython, warmUp } = await import("./python.ts");
      warmUp();
      return () => checkPython(code, policy, autoFix);
    }
    case "node": {
      const { checkNode } = await import("./node.ts");
      return () => checkNode(code, policy, autoFix);
    }
    case "shell": {
      const { checkShell } = await import("./shell.ts");
      return () => ({ found: checkShell(code) });
    }
  }
}

function explain(error: unknown): FromWorker {
  if (error instanceof AppError) {
    const { code, message, hint, details } = error;
    return {
      error: { code, message, ...(hint === undefined ? {} : { hint }), ...(details === undefined ? {} : { details }) },
    };
  }
  // Parsers descend with the nesting of what they read; WebAssembly tells of its own end by a RuntimeError.
  if (error instanceof RangeError || (error instanceof Error && error.name === "RuntimeError"))
    return { error: { code: "too_large", message: "it is too large, or nested too deeply, to be read" }, last: true };
  return { error: { code: "internal", message: `the check failed: ${messageOf(error)}` }, last: true };
}

const say = (message: FromWorker) => parentPort?.postMessage(message);

async function serve(task: Task): Promise<void> {
  try {
    const run = await load(task);
    // The deadline is for what a stranger wrote, not for the parser's own start.
    say({ loaded: true });
    say({ answer: run() });
  } catch (error) {
    say(explain(error));
  }
}

parentPort?.on("message", (task: Task) => void serve(task));
say({ ready: true });
