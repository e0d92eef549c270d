import { forkLimits } from "../core/fork-limits.ts";
import type { CopyParts } from "./make-copy.ts";
import type { Sandbox } from "./sandbox.ts";
import { tellGeneration } from "./save.ts";
import { dropSeed, growSeed, saveSeed } from "./seed.ts";

/**
 * Copies of a running sandbox: memory, processes, contexts and files as they were at one moment. Either all that were asked
 * for, or none. The original stands still meanwhile, for as long as saving and going on take.
 */
export async function forkSandbox(original: Sandbox, parts: CopyParts, count: number): Promise<Sandbox[]> {
  const seed = await saveSeed(original);
  try {
    await tellGeneration(original.wire.tunnels, original.id);
    return await makeAll(count, () => growSeed(seed, parts));
  } finally {
    await dropSeed(seed, parts.engine);
  }
}

async function makeAll(count: number, make: () => Promise<Sandbox>): Promise<Sandbox[]> {
  const made: Sandbox[] = [];
  let left = count;
  let failure: { error: unknown } | undefined;
  const work = async () => {
    while (left > 0 && failure === undefined) {
      left--;
      try {
        made.push(await make());
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, forkLimits.atOnce) }, work));
  if (failure === undefined) return made;
  await Promise.allSettled(made.map((copy) => copy.destroy()));
  throw failure.error;
}
