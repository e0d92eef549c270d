import { cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { CreatedSandbox, Engine } from "../core/engine.ts";
import type { ContextState } from "./code-context.ts";
import type { Sandbox } from "./sandbox.ts";
import { tellGeneration } from "./save.ts";

export interface CopyParts {
  engine: Engine;
  /** Takes a copy that runs over. */
  take: (created: CreatedSandbox, contexts: readonly ContextState[]) => Promise<Sandbox>;
}

/** In an owner's folder, of what is none of its knowledge. */
export const stagePrefix = ".copy-";

/** Logs, records and names are its own files, made by nobody but owners. */
export async function copyKnowledge(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of await readdir(from))
    if (!name.startsWith(stagePrefix)) await cp(join(from, name), join(to, name), { recursive: true });
}

/** One that goes on from what the engine holds, with what its owner knew. */
export async function makeCopy(
  { engine, take }: CopyParts,
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
