import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ContextLanguage } from "../../packages/server/src/core/context.ts";
import type { CodeContext } from "../../packages/server/src/sandboxes/code-context.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import type { Attack } from "./snippets/attack.ts";
import { nodeAttacks } from "./snippets/node-attacks.ts";
import { pythonAttacks } from "./snippets/python-attacks.ts";

const attacks: Record<ContextLanguage, Attack[]> = { python: pythonAttacks, node: nodeAttacks };

describe.each(engines)("hostile code in a context (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  const bystanders: CodeContext[] = [];
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({
      engine,
      limits: { storageBytes: 64 * 1024 ** 2, processes: 96, memoryBytes: 1024 ** 3, cpus: 2 },
    });
    for (const language of ["python", "node"] as const) bystanders.push(await sandbox.contexts.create({ language }));
    await Promise.all(bystanders.map((context, at) => context.run(at === 0 ? "kept = 7" : "let kept = 7")));
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  describe.each(["python", "node"] as const)("%s", (language) => {
    it.each(attacks[language])("[EXE-06] hurts only its own context when it $title", async (attack) => {
      const { memoryBytes } = attack;
      await using context = await sandbox.contexts.create({
        language,
        ...(memoryBytes && { limits: { memoryBytes } }),
      });
      attack.seen(await context.run(attack.code, { limits: { timeoutMs: attack.timeoutMs ?? 30_000 } }));
      const seen = await Promise.all(bystanders.map((bystander) => bystander.run("kept")));
      expect(seen.map((result) => result.results[0]?.text)).toEqual(["7", "7"]);
      if (attack.lives === true) expect((await context.run("6 * 7")).results.at(-1)?.text).toBe("42");
      if (attack.lives === false) await expect(context.run("1")).rejects.toMatchObject({ code: "conflict" });
    });
  });
});
