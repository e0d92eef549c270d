import { z } from "zod";
import { type Fork, memoryChoices } from "../core/fork.ts";
import { forkLimits } from "../core/fork-limits.ts";
import { count } from "./amount.ts";
import { sandbox, showSandbox } from "./sandbox.ts";

export const forkSandbox = z
  .strictObject({
    count: count(forkLimits.copies).default(forkLimits.copies.default).describe("how many copies"),
    memory: z
      .enum(memoryChoices)
      .default("auto")
      .describe("with what runs in it: where that can be, or else not at all (required), or only the files (never)"),
  })
  .meta({ id: "ForkSandbox" });

export const fork = z
  .object({
    sandboxes: z.array(sandbox),
    memory: z.boolean().describe("whether what ran in the original runs on in each copy"),
    why: z.string().nullable().describe("why the copies have files alone"),
    files: z
      .enum(["copy", "overlay", "snapshot"])
      .describe("they lie on those of the original, on a copy of them, or are what a snapshot reads of the workspace"),
  })
  .meta({ id: "Fork" });

export function showFork({ records, memory, why, files }: Fork): z.output<typeof fork> {
  return { sandboxes: records.map(showSandbox), memory, why, files };
}
