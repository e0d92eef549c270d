import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { engines, ordinary } from "../harness.ts";
import { runOnHost } from "./host-run.ts";
import { floods, forbidden, networkProbes } from "./network/probes.ts";

interface Result {
  claim: string;
  effect: string | null;
  said: string;
  twin: string | null;
  twinSaid?: string;
}

/** In a network namespace of its own, where the forbidden addresses are there and answer. */
async function play(engine: string): Promise<Result[]> {
  const folder = join(import.meta.dirname, "network");
  const namespace = ["unshare", "--net", "python3", join(folder, "namespace.py"), Object.values(forbidden).join()];
  const scene = [process.execPath, join(folder, "scene.ts"), engine];
  const { stdout, stderr } = await runOnHost([...namespace, ...scene], { timeoutMs: 240_000 });
  const line = stdout.trim().split("\n").at(-1) ?? "";
  if (!line.startsWith("[")) throw new Error(`the scene did not play:\n${stderr}`);
  return JSON.parse(line);
}

describe.skipIf(ordinary).each(engines)("the network of a hostile program (%s)", (engine) => {
  let playing: Promise<Result[]> | undefined;
  const resultOf = async (claim: string) => {
    playing ??= play(engine);
    const result = (await playing).find((one) => one.claim === claim);
    if (result === undefined) throw new Error("it was not tried");
    return result;
  };

  for (const { claim } of [...networkProbes, ...floods])
    it(`[SBX-18] cannot ${claim}`, { timeout: 250_000 }, async () => {
      const { effect, twin, said, twinSaid } = await resultOf(claim);
      expect({ effect, said }).toEqual({ effect: null, said });
      expect(twin, `the same where it is allowed: ${twinSaid}`).toBeTruthy();
    });
});
