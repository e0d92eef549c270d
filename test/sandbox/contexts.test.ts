import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ContextLanguage, ContextRunResult } from "../../packages/server/src/core/context.ts";
import { contextLimits } from "../../packages/server/src/core/limits.ts";
import type { CodeContext } from "../../packages/server/src/sandboxes/code-context.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { nodeSnippets } from "./snippets/node.ts";
import { pythonSnippets } from "./snippets/python.ts";
import type { Snippet } from "./snippets/snippet.ts";

const tables: Record<ContextLanguage, Snippet[]> = { python: pythonSnippets, node: nodeSnippets };
const textOf = (result: ContextRunResult) => result.results.map((shown) => shown.text);

function check(snippet: Snippet, result: ContextRunResult): void {
  const { error, results } = snippet;
  if (error === undefined) expect(result.error).toBeUndefined();
  else {
    const { message } = error;
    expect(result.error).toMatchObject({
      name: error.name,
      ...(message === undefined
        ? {}
        : { message: typeof message === "string" ? message : expect.stringMatching(message) }),
    });
  }
  expect(result.stdout).toBe(snippet.stdout ?? "");
  expect(result.stderr.slice(0, snippet.stderr?.length ?? 1000)).toBe(snippet.stderr ?? "");
  if (results !== undefined) {
    expect(textOf(result)).toHaveLength(results.length);
    for (const [at, shown] of results.entries()) expect(result.results[at]).toMatchObject(shown);
  }
  for (const key of snippet.without ?? []) expect(result.results[0]).not.toHaveProperty(key);
  for (const part of snippet.shows ?? []) expect(result.error?.traceback).toContain(part);
  for (const part of snippet.hides ?? []) expect(result.error?.traceback).not.toContain(part);
}

/** What each language says for the same thing. */
const words = {
  python: {
    set: (name: string, value: number) => `${name} = ${value}`,
    loop: "while True: pass",
    sayThenLoop: "print('begun')\nwhile True: pass",
    wait: "import time\nprint('begun')\ntime.sleep(600)",
    deaf: "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    interrupted: "KeyboardInterrupt",
    exit: "import os\nos._exit(3)",
    crash: "import os\nos.kill(os.getpid(), 11)",
    print: (count: number) => `import sys\nsys.stdout.write('x' * ${count})\nNone`,
    undefinedName: "NameError",
  },
  node: {
    set: (name: string, value: number) => `let ${name} = ${value}`,
    loop: "while (true) {}",
    sayThenLoop: "console.log('begun'); while (true) {}",
    wait: "console.log('begun'); await new Promise((done) => setTimeout(done, 600_000))",
    deaf: "await new Promise((done) => setTimeout(done, 1)); while (true) {}",
    interrupted: "Interrupted",
    exit: "process.exit(3)",
    crash: "process.kill(process.pid, 11); await new Promise(() => {})",
    print: (count: number) => `process.stdout.write('x'.repeat(${count})); undefined`,
    undefinedName: "ReferenceError",
  },
};

describe.each(engines)("code contexts (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({
      engine,
      limits: { storageBytes: 256 * 1024 ** 2, processes: 256, memoryBytes: 1024 ** 3 },
    });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  describe.each(["python", "node"] as const)("%s", (language) => {
    const word = words[language];
    let context: CodeContext;
    beforeAll(async () => {
      context = await sandbox.contexts.create({ language });
    });
    afterAll(() => context.dispose());

    it.each(tables[language])("[EXE-06] $title", async (snippet) => {
      const options = snippet.stdin === undefined ? {} : { stdin: snippet.stdin };
      check(snippet, await context.run(snippet.code, options));
    });

    it("[EXE-06] runs wait for each other, in order", async () => {
      await context.run(word.set("n", 0));
      const runs = Array.from({ length: 20 }, (_, at) => context.run(`n = n * 2 + ${at % 2}\nn`));
      let n = 0;
      const expected = runs.map((_, at) => {
        n = n * 2 + (at % 2);
        return [String(n)];
      });
      expect((await Promise.all(runs)).map((result) => result.results.map((shown) => shown.text).slice(-1))).toEqual(
        expected,
      );
    });

    it("[EXE-06] an interrupt stops an endless loop, and the variables stay", async () => {
      await context.run(word.set("kept", 5));
      const begun = Promise.withResolvers<void>();
      const run = context.run(word.sayThenLoop, {
        onStdout: () => {
          begun.resolve();
          return undefined;
        },
      });
      await begun.promise;
      await context.interrupt();
      expect((await run).error?.name).toBe(word.interrupted);
      expect(textOf(await context.run("kept"))).toEqual(["5"]);
    });

    it("[EXE-06] an interrupt stops code that waits", async () => {
      const begun = Promise.withResolvers<void>();
      const run = context.run(word.wait, {
        onStdout: () => {
          begun.resolve();
          return undefined;
        },
      });
      await begun.promise;
      await context.interrupt();
      expect((await run).error?.name).toBe(word.interrupted);
      expect(textOf(await context.run("kept"))).toEqual(["5"]);
    });

    it("[EXE-06] an interrupt right after the start is not lost", async () => {
      for (let round = 0; round < 5; round++) {
        const run = context.run(word.loop);
        await context.interrupt();
        expect((await run).error?.name).toBe(word.interrupted);
      }
      await context.interrupt(); // nothing runs
      expect(textOf(await context.run("kept"))).toEqual(["5"]);
    });

    it("[EXE-06] past its time code is interrupted, and the variables stay", async () => {
      const result = await context.run(word.loop, { limits: { timeoutMs: 300 } });
      expect(result).toMatchObject({ timed_out: true, error: { name: word.interrupted } });
      expect(result.ended).toBeUndefined();
      expect(textOf(await context.run("kept"))).toEqual(["5"]);
    });

    it("[EXE-06] output comes while the code runs, and a listener holds it back", async () => {
      const chunks: Buffer[] = [];
      const result = await context.run(word.print(3_000_000), {
        onStdout: async (chunk) => {
          chunks.push(Buffer.from(chunk));
          await new Promise(setImmediate);
        },
      });
      expect(result).toMatchObject({ stdout: "", stderr: "" });
      expect(Buffer.concat(chunks).toString()).toBe("x".repeat(3_000_000));
    });

    it("[EXE-06] output past its limit is cut and said to be", async () => {
      const result = await context.run(word.print(100_000), { limits: { outputBytes: 1000 } });
      expect(result).toMatchObject({ stdout: "x".repeat(1000), truncated: true });
    });

    it("[EXE-06] the error of a listener is the caller's, and the context goes on", async () => {
      const onStdout = () => {
        throw new Error("the listener broke");
      };
      await expect(context.run(word.sayThenLoop, { onStdout })).rejects.toThrow("the listener broke");
      expect(textOf(await context.run("kept"))).toEqual(["5"]);
    });

    it("[EXE-06] a context that ends says why, and a restarted one begins anew", async () => {
      const other = await sandbox.contexts.create({ language });
      await other.run(word.set("lost", 1));
      const waiting = [other.run(word.exit), other.run("1")] as const;
      expect((await waiting[0]).ended).toMatchObject({
        exit_code: 3,
        signal: null,
        reason: expect.stringContaining("exit code 3"),
      });
      await expect(waiting[1]).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("exit code 3"),
      });
      expect(other.ended).toMatchObject({ exit_code: 3 });
      await other.restart();
      expect(other.ended).toBeUndefined();
      expect((await other.run("lost")).error?.name).toBe(word.undefinedName);
      expect((await other.run(word.crash)).ended).toMatchObject({ signal: "SIGSEGV", reason: "ended by SIGSEGV" });
      await other.dispose();
      await expect(other.run("1")).rejects.toMatchObject({ code: "conflict" });
      expect(textOf(await context.run("kept"))).toEqual(["5"]);
    });

    it("[EXE-06] code that does not heed its time limit loses its context", async () => {
      const other = await sandbox.contexts.create({ language });
      const result = await other.run(word.deaf, { limits: { timeoutMs: 100 } });
      expect(result).toMatchObject({ timed_out: true, ended: { reason: "the code went on after its time limit" } });
      await other.dispose();
    });

    it("[EXE-06] a restart ends what runs and refuses what waits", async () => {
      const other = await sandbox.contexts.create({ language });
      const runs = [other.run(word.loop), other.run("1")] as const;
      const refused = expect(runs[1]).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("restarted"),
      });
      await other.restart();
      expect((await runs[0]).ended?.reason).toBe("the context was restarted");
      await refused;
      expect(textOf(await other.run("1"))).toEqual(["1"]);
      await other.dispose();
    });

    it("[EXE-06] takes a folder and variables", async () => {
      await sandbox.files.mkdir(`deep-${language}`);
      const other = await sandbox.contexts.create({
        language,
        cwd: `/workspace/deep-${language}`,
        env: { GREETING: "hej" },
      });
      const look = {
        python: "import os\nos.getcwd() + os.environ['GREETING']",
        node: "process.cwd() + process.env.GREETING",
      };
      expect(textOf(await other.run(look[language]))).toEqual([`'/workspace/deep-${language}hej'`]);
      await other.dispose();
    });
  });

  it("[EXE-06] figures of matplotlib are results, where it is installed", async (it) => {
    await using context = await sandbox.contexts.create({ language: "python" });
    const found = await context.run("import importlib.util\nimportlib.util.find_spec('matplotlib') is not None");
    if (textOf(found)[0] !== "True") return it.skip("matplotlib is not installed here");
    const result = await context.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone");
    expect(result.results).toMatchObject([{ kind: "display", png: expect.stringMatching(/^iVBORw0KGgo/) }]);
  });

  it("[EXE-06] past its CPU time code is interrupted, and the variables stay", async () => {
    await using context = await sandbox.contexts.create({ language: "python" });
    await context.run("kept = 5");
    const result = await context.run("while True: pass", { limits: { cpuTimeMs: 1000 } });
    expect(result).toMatchObject({ cpu_limit: true, timed_out: false, error: { name: "KeyboardInterrupt" } });
    expect(textOf(await context.run("kept"))).toEqual(["5"]);
  });

  it("[EXE-06] a listener that takes nothing cannot hold up the end of its context", async () => {
    await using context = await sandbox.contexts.create({ language: "python" });
    const begun = Promise.withResolvers<void>();
    const run = context.run("while True: print('x' * 1000)", {
      onStdout: () => {
        begun.resolve();
        return new Promise(() => {});
      },
    });
    await begun.promise;
    await context.restart();
    expect((await run).ended?.reason).toBe("the context was restarted");
    expect(textOf(await context.run("1"))).toEqual(["1"]);
  });

  it("[EXE-06] a sandbox that goes takes its contexts along, and says so", async () => {
    const other = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
    const context = await other.contexts.create({ language: "python" });
    const run = expect(context.run("while True: pass")).rejects.toMatchObject({ code: "unavailable" });
    await other.destroy();
    await run;
    await expect(context.run("1")).rejects.toMatchObject({ code: "unavailable" });
    await context.dispose();
  });

  it("[EXE-06] contexts of one sandbox share its files and nothing else", async () => {
    await using one = await sandbox.contexts.create({ language: "python" });
    await using two = await sandbox.contexts.create({ language: "node" });
    await one.run("value = 7\nopen('shared.txt', 'w').write(str(value))");
    expect(textOf(await two.run("require('fs').readFileSync('shared.txt', 'utf8') + typeof value"))).toEqual([
      "'7undefined'",
    ]);
    expect(sandbox.contexts.list()).toEqual([one, two]);
    expect(sandbox.contexts.get(one.id)).toBe(one);
  });

  it("[EXE-06] what cannot be is refused", async () => {
    await expect(sandbox.contexts.create({ language: "perl" as "python" })).rejects.toMatchObject({ code: "invalid" });
    await expect(sandbox.contexts.create({ language: "python", cwd: "/nowhere" })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("no such file or folder"),
    });
    await using context = await sandbox.contexts.create({ language: "python" });
    await expect(context.run("1", { limits: { timeoutMs: 9e9 } })).rejects.toMatchObject({ code: "invalid" });
    await expect(context.run("1", { stdin: Buffer.alloc(2_000_000) })).rejects.toMatchObject({ code: "too_large" });
    await expect(context.run("#".repeat(5_000_000))).rejects.toMatchObject({ code: "too_large" });
    expect(() => sandbox.contexts.get("nowhere")).toThrow("unknown context");
    const runs = Array.from({ length: contextLimits.queuedRuns + 2 }, () => context.run("1"));
    const settled = await Promise.allSettled(runs);
    const refused = settled.filter((run) => run.status === "rejected").map((run) => run.reason.code);
    expect(refused).toEqual(["limit_exceeded"]);
  });

  it("[EXE-06] a sandbox has many contexts, and no more than its cap", async () => {
    const contexts = await Promise.all(
      Array.from({ length: contextLimits.contexts }, () => sandbox.contexts.create({ language: "python" })),
    );
    await expect(sandbox.contexts.create({ language: "python" })).rejects.toMatchObject({ code: "limit_exceeded" });
    await Promise.all(contexts.map((context, at) => context.run(`mine = ${at}`)));
    const seen = await Promise.all(contexts.map((context) => context.run("mine")));
    expect(seen.map(textOf)).toEqual(contexts.map((_, at) => [String(at)]));
    await Promise.all(contexts.map((context) => context.dispose()));
    expect(sandbox.contexts.list()).toEqual([]);
  });
});
