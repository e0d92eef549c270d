import { randomBytes } from "node:crypto";
import type { Checkpoint } from "../core/checkpoint.ts";
import type { Engine } from "../core/engine.ts";
import { AppError } from "../core/errors.ts";
import type { Tunnels } from "../core/tunnel.ts";
import type { ContextState } from "./code-context.ts";
import type { Contexts } from "./contexts.ts";
import type { SandboxWire } from "./sandbox-wire.ts";

interface SaveParts {
  id: string;
  wire: SandboxWire;
  contexts: Contexts;
  engine: Engine;
}

/** A sandbox whose memory and files are saved, and what its owner knows beside them. */
export interface SavedSandbox {
  checkpoint: Checkpoint;
  contexts: ContextState[];
}

export interface SaveOptions<T> {
  /** While it stands still. */
  use: (saved: SavedSandbox) => Promise<T>;
  /** Told as it begins to go on, which takes a while. */
  meanwhile?: (used: T) => void;
}

const generationBytes = 16;

/**
 * Nothing reaches the guest from before its memory is saved until it goes on, and all that it wrote is read: what the
 * owner knows then is true of the saved memory. Where it cannot be saved it may be lost, which the engine tells.
 */
export async function saveSandbox<T>(parts: SaveParts, options: SaveOptions<T>): Promise<T> {
  const { id, wire, contexts, engine } = parts;
  const { use, meanwhile } = options;
  if (contexts.list().some((context) => context.ended === undefined && !context.idle))
    throw new AppError("conflict", "a code context is running code", { hint: "wait until it ends, or interrupt it" });
  try {
    if (!(await wire.still())) throw new AppError("conflict", `sandbox ${id} does not respond, or is paused`);
    const checkpoint = await engine.checkpoint(id);
    try {
      await wire.drained();
      const used = await use({ checkpoint, contexts: await contexts.states() });
      meanwhile?.(used);
      await engine.restore(id, checkpoint.id);
      return used;
    } catch (error) {
      await engine.forgetCheckpoint(checkpoint.id);
      throw error;
    }
  } finally {
    wire.resume("checkpoint");
  }
}

/** For programs that must know that they go on in another place, or from an earlier moment. */
export async function tellGeneration(tunnels: Pick<Tunnels, "place">, id: string): Promise<void> {
  const generation = randomBytes(generationBytes).toString("hex");
  await tunnels.place("caisson", "generation", Buffer.from(`${generation} ${id}\n`));
}
