import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { root, seed, soak } from "../harness.ts";
import { findLeaks, killProcessesOf, processesOf } from "../leaks.ts";

const limits = { memoryBytes: 64 * 1024 ** 2, storageBytes: 16 * 1024 ** 2 };

/** The same numbers for the same seed. */
function chance(): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** An owner with sandboxes of its own, killed at some moment while it makes and uses them. */
async function killedOwner(home: string, count: number, afterLines: number): Promise<string[]> {
  const script = join(import.meta.dirname, "churn-owner.ts");
  const child = spawn(process.execPath, [script, home, String(count)], { stdio: ["ignore", "pipe", "inherit"] });
  const ids: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== "all") ids.push(line);
    if (ids.length >= afterLines || line === "all") break;
  }
  child.kill("SIGKILL");
  await new Promise((resolve) =>
    child.exitCode === null && child.signalCode === null ? child.on("exit", resolve) : resolve(0),
  );
  return ids;
}

describe("sandboxes come and go", () => {
  const total = soak ? 200 : 20;
  const atOnce = soak ? 20 : 5;

  it(`[SBX-17] ${total} created, used and destroyed, ${atOnce} at a time, with random kills, leave nothing behind`, async () => {
    const home = await mkdtemp("/var/tmp/caisson-churn-");
    const random = chance();
    const outcomes = { used: 0, lost: 0 };
    {
      await using caisson = openCaisson({ home, root });
      let left = total;
      const worker = async () => {
        while (left-- > 0) {
          const engine: EngineName = random() < 0.3 ? "gvisor" : "container";
          const doomed = random() < 0.3;
          const sandbox = await caisson.createSandbox({ engine, limits });
          const run = sandbox.exec({ command: doomed ? "sleep 30" : "echo used > f; cat f" }).then(
            (result) => result.stdout,
            (error: { code?: string }) => error.code,
          );
          if (doomed) killProcessesOf(sandbox.id);
          const outcome = await run;
          outcomes[outcome === "used\n" ? "used" : "lost"]++;
          if (outcome !== "used\n") expect([doomed, outcome]).toEqual([true, "unavailable"]);
          await sandbox.destroy();
        }
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
    }
    expect(outcomes.used + outcomes.lost).toBe(total);
    expect(findLeaks(home)).toEqual([]);
    await rm(home, { recursive: true });
  }, 600_000);

  it("[SBX-17] an owner killed with -9 leaves nothing once the lease has run out and another came by", async () => {
    const home = await mkdtemp("/var/tmp/caisson-churn-");
    const random = chance();
    const ids: string[] = [];
    for (let i = 0; i < (soak ? 10 : 2); i++)
      ids.push(...(await killedOwner(home, soak ? 8 : 4, 1 + Math.floor(random() * 5))));
    expect(ids.length).toBeGreaterThan(0);
    // The guests end by themselves: nobody is there to end them.
    const deadline = Date.now() + 3 * wireLimits.leaseMs;
    while (ids.some((id) => processesOf(id).length > 0) && Date.now() < deadline) await sleep(200);
    expect(ids.flatMap(processesOf)).toEqual([]);
    {
      await using caisson = openCaisson({ home, root });
      await using sandbox = await caisson.createSandbox({ engine: "container", limits });
      expect((await sandbox.exec({ command: "echo next" })).stdout).toBe("next\n");
    }
    expect(findLeaks(home)).toEqual([]);
    await rm(home, { recursive: true });
  }, 300_000);
});
