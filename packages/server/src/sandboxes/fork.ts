import { cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CreatedSandbox, Engine } from "../core/engine.ts";
import { forkLimits } from "../core/fork-limits.ts";
import type { ContextState } from "./code-context.ts";
import type { Sandbox } from "./sandbox.ts";
import { tellGeneration } from "./save.ts";

interface ForkParts {
  engine: Engine;
  /** What its owner knows of it. */
  ownerFolder: string;
  /** Takes a copy that runs over. */
  take: (created: CreatedSandbox, contexts: readonly ContextState[]) => Promise<Sandbox>;
}

const stagePrefix = ".copy-";

/**
 * Copies of a running sandbox: memory, processes, contexts and files as they were at one moment. Either all that were asked
 * for, or none. The original stands still meanwhile, for as long as saving and going on take.
 */
export async function forkSandbox(original: Sandbox, parts: ForkParts, count: number): Promise<Sandbox[]> {
  const { engine, ownerFolder, take } = parts;
  const stage = await mkdtemp(join(ownerFolder, stagePrefix));
  try {
    const { checkpoint, contexts } = await original.save(async (saved) => {
      await copyKnowledge(ownerFolder, stage);
      return saved;
    });
    try {
      await tellGeneration(original.wire.tunnels, original.id);
      return await makeAll(count, () => makeCopy({ engine, take }, checkpoint.id, stage, contexts));
    } finally {
      await engine.forgetCheckpoint(checkpoint.id);
    }
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** Logs, records and names are its own files, made by nobody but owners. */
export async function copyKnowledge(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of await readdir(from))
    if (!name.startsWith(stagePrefix)) await cp(join(from, name), join(to, name), { recursive: true });
}

/** One that goes on from what the engine holds, with what its owner knew. */
export async function makeCopy(
  { engine, take }: Pick<ForkParts, "engine" | "take">,
  checkpointId: string,
  knowledge: string,
  contexts: readonly ContextState[],
): Promise<Sandbox> {
  const created = await engine.createFrom(checkpointId);
  try {
    await copyKnowledge(knowledge, created.ownerFolder);
  } catch (error) {
    await engine.destroy(created.id);
    throw error;
  }
  const copy = await take(created, contexts);
  await tellGeneration(copy.wire.tunnels, copy.id);
  return copy;
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
