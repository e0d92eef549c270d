import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";

const worker = pathToFileURL(join(import.meta.dirname, "../../.build/app/validation-worker.mjs"));

const code = (language: string, text: string) => ({
  kind: "code",
  language,
  code: text,
  policy: "advise",
  autoFix: true,
});

it.each([
  ["ruff", code("python", "eval('1')"), "dynamic-code"],
  ["acorn", code("node", "eval('1')"), "dynamic-code"],
  ["unbash", code("shell", "rm -rf /"), "delete-root"],
  ["Ajv", { kind: "json", data: '{"name": 1}', schema: { name: "config" } }, "required"],
  ["the reader of CSV", { kind: "csv", csv: "a\n", requiredHeaders: ["b"], typeConstraints: {} }, "missing_header"],
])("the bundle holds %s", async (_, task, expected) => {
  const thread = new Worker(worker, { env: {}, execArgv: [] });
  try {
    const messages: Record<string, unknown>[] = [];
    thread.on("message", (message) => messages.push(message));
    thread.postMessage(task);
    while (!messages.some((message) => "answer" in message || "error" in message)) await once(thread, "message");
    expect(JSON.stringify(messages.at(-1))).toContain(expected);
    expect(messages.at(-1)).toHaveProperty("answer");
  } finally {
    await thread.terminate();
  }
});
