import type { Engine } from "../core/engine.ts";
import type { SandboxWire } from "./sandbox-wire.ts";

/** Stops the wire and the boundary, or neither. Refuses a sandbox that is lost. */
export async function pause(id: string, wire: SandboxWire, engine: Engine): Promise<void> {
  if (wire.paused) return;
  wire.checkUsable();
  await wire.pause();
  try {
    await engine.pause(id);
  } catch (error) {
    wire.resume();
    throw error;
  }
}

export async function resume(id: string, wire: SandboxWire, engine: Engine): Promise<void> {
  if (!wire.paused && wire.connected) return;
  wire.resume();
  try {
    await engine.resume(id);
  } catch (error) {
    await wire.pause();
    throw error;
  }
}
