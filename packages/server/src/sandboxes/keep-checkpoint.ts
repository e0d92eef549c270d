import type { Checkpoint } from "../core/checkpoint.ts";
import type { Engine } from "../core/engine.ts";
import type { ContextState } from "./code-context.ts";
import { copyKnowledge } from "./make-copy.ts";
import type { Sandbox } from "./sandbox.ts";
import { tellGeneration } from "./save.ts";

/** What goes on from a checkpoint needs beside what the engine keeps of it. */
export interface KeptSandbox {
  checkpoint: Checkpoint;
  contexts: ContextState[];
}

/** Saves a sandbox that goes on, and keeps what was saved: sealed with this key, and what its owner knows in the folder. */
export async function keepCheckpoint(
  sandbox: Sandbox,
  engine: Engine,
  { key, folder }: { key: Buffer; folder: string },
): Promise<KeptSandbox> {
  const use = async (saved: KeptSandbox) => {
    await copyKnowledge(sandbox.ownerFolder, folder);
    return saved;
  };
  const kept = await sandbox.save({ use });
  const { id } = kept.checkpoint;
  try {
    await tellGeneration(sandbox.wire.tunnels, sandbox.id);
    await engine.keepCheckpoint(id, key);
  } finally {
    await engine.forgetCheckpoint(id);
  }
  return kept;
}
