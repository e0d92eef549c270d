import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sandboxLimits } from "../../packages/server/src/core/limits.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const { wordBytes, wordsBytes, variables } = sandboxLimits;
const KiB = 1024;

/** Hashes all that it was given, but what every run has. */
const program = [
  "import hashlib, os, sys",
  "env = sorted(f'{name}={value}' for name, value in os.environ.items() if name.startswith('big'))",
  "print(hashlib.sha256('\\0'.join(sys.argv[1:] + env).encode()).hexdigest(), len(sys.argv) - 1, len(env))",
].join("\n");

describe.each(engines)("arguments and environment on %s", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { memoryBytes: 2 * 1024 ** 3 } }); // for 24 interpreters
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  async function run(words: readonly string[], env: Record<string, string> = {}): Promise<void> {
    const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const hash = createHash("sha256").update([...words, ...given.sort()].join("\0"));
    const result = await sandbox.exec({ command: ["python3", "-c", program, ...words], env });
    const stdout = `${hash.digest("hex")} ${words.length} ${given.length}\n`;
    expect(result).toMatchObject({ exit_code: 0, stdout, stderr: "" });
  }

  it.each([
    ["one word as long as Linux takes", ["x".repeat(wordBytes - 1)], {}],
    ["nearly 2 MiB of long words", Array.from({ length: 16 }, (_, n) => `${n}`.padEnd(127 * KiB, "x")), {}],
    ["many words", Array.from({ length: sandboxLimits.arguments - 3 }, (_, n) => `word ${n}`), {}],
    [
      "a large environment",
      [],
      Object.fromEntries(Array.from({ length: variables }, (_, n) => [`big${n}`, "v".repeat(1_900)])),
    ],
    [
      "both",
      ["x".repeat(100_000)],
      Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`big${n}`, "v".repeat(120_000)])),
    ],
  ])("[EXE-01] reach a program as they are: %s", async (_, words, env) => {
    await run(words, env);
  });

  it("[EXE-01] reach the many runs of one sandbox at the same time", async () => {
    const words = Array.from({ length: 15 }, (_, n) => `${n}`.padEnd(120_000, "x"));
    await Promise.all(Array.from({ length: 8 }, () => run(words)));
    // More than a wire bears is refused, and the sandbox goes on.
    const ended = await Promise.allSettled(Array.from({ length: 24 }, () => run(words)));
    for (const one of ended)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "limit_exceeded", retryAfterMs: 1_000 });
    await run(words);
  });

  it.each([
    ["a word", ["x".repeat(wordBytes)], {}, `Linux takes ${wordBytes}`],
    ["a variable", [], { big: "x".repeat(wordBytes - 4) }, `Linux takes ${wordBytes}`],
    ["all words", Array.from({ length: 17 }, () => "x".repeat(125_000)), {}, `Linux takes ${wordsBytes}`],
    ["all words, by their number", Array.from({ length: sandboxLimits.arguments }, () => ""), {}, "more than"],
  ])("past what Linux takes are refused with the limit: %s", async (_, words, env, message) => {
    const command = ["true", ...words];
    await expect(sandbox.exec({ command, env })).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringContaining(message),
    });
    await expect(sandbox.start({ command, env })).rejects.toMatchObject({ code: "too_large" });
  });
});
