import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { templateSteps } from "../../packages/server/src/core/template.ts";
import { makeHome, until } from "../fleet/fixture.ts";
import { engines, ordinary, soak } from "../harness.ts";
import { killOwner } from "../sandbox/owner.ts";

const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "operator" },
  requestId: "request",
};

/** Runs a daemon and kills it with -9 once that step has begun. */
async function killAt(home: string, engine: string, step: string): Promise<void> {
  const words = [join(import.meta.dirname, "template-owner.ts"), home, engine];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  let killed: Promise<void> | undefined;
  for await (const line of createInterface({ input: child.stdout })) if (line === step) killed = killOwner(child);
  await killed;
  expect(child.signalCode).toBe("SIGKILL");
}

/** Soaks take every step on every engine. */
const kills = engines.flatMap((engine) => (["files", "freeze", "warm-up"] as const).map((step) => ({ engine, step })));
const taken = kills.filter(({ engine, step }) => soak || engine === engines[0] || step === "warm-up");

describe.skipIf(ordinary)("the making of a template", () => {
  it.each(taken)(
    "[IMG-06] that is killed with -9 at $step on $engine leaves its record alone, and it can be made again",
    async ({ engine, step }) => {
      await using home = await makeHome();
      await killAt(home.home, engine, step);
      await using daemon = await home.open({ engine });
      const { templates, templateBuilds, caisson } = daemon;
      const left = templates.get(caller, "half");
      expect(left).toMatchObject({ state: "failed", error: "the daemon ended during the build" });
      // The next one may have begun before the kill came.
      expect(templateSteps.slice(templateSteps.indexOf(step))).toContain(left.step);
      await until(async () => (await caisson.keptSandboxes()).length === 0);
      await until(async () => (await caisson.layers()).length === 0);
      const files = [{ path: "a", data: Buffer.from("again") }];
      const { id } = await templateBuilds.create(caller, { name: "half", files });
      await until(() => templates.get(caller, id).state !== "building");
      expect(templates.list(caller)).toMatchObject([{ id, state: "ready" }]);
      await templateBuilds.delete(caller, "half");
      expect(await caisson.layers()).toEqual([]);
    },
  );
});
