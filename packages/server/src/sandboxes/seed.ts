import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "../core/engine.ts";
import { type CopyParts, copyKnowledge, makeCopy, stagePrefix } from "./make-copy.ts";
import type { Sandbox } from "./sandbox.ts";
import type { SavedSandbox, SaveOptions } from "./save.ts";

/** What copies of a sandbox are made of: its memory and files, as its engine saved them, and what its owner knew then. */
export interface Seed extends SavedSandbox {
  /** Within the owner's folder of the original, and gone with it. */
  stage: string;
  /** Values that nothing of a copy shows. */
  hidden: readonly Buffer[];
}

type SeedOptions = Pick<SaveOptions<Seed>, "meanwhile">;

/** The original stands still meanwhile, and goes on. What is saved is the engine's until it is dropped. */
export async function saveSeed(original: Sandbox, options: SeedOptions): Promise<Seed> {
  const { ownerFolder, redactor } = original;
  const stage = await mkdtemp(join(ownerFolder, stagePrefix));
  const use = async (saved: SavedSandbox): Promise<Seed> => {
    await copyKnowledge(ownerFolder, stage);
    return { ...saved, stage, hidden: redactor.hidden };
  };
  try {
    return await original.save({ use, ...options });
  } catch (error) {
    await rm(stage, { recursive: true, force: true });
    throw error;
  }
}

export function growSeed({ checkpoint, contexts, stage }: Seed, parts: CopyParts): Promise<Sandbox> {
  return makeCopy(parts, checkpoint.id, stage, contexts);
}

export async function dropSeed({ checkpoint, stage }: Seed, engine: Engine): Promise<void> {
  try {
    await engine.forgetCheckpoint(checkpoint.id);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}
