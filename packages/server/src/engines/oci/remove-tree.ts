import { rm } from "node:fs/promises";
import { geteuid } from "node:process";
import type { HelperClient } from "./helper-client.ts";

/** A folder of the engine's own; what an ordinary user's sandboxes wrote, only that user's helper may remove. */
export async function removeTree(path: string, id: string, helper: HelperClient): Promise<void> {
  if (geteuid?.() === 0) await rm(path, { recursive: true, force: true });
  else
    await helper.request("remove", [
      ["id", id],
      ["folder", path],
    ]);
}
