import { z } from "zod";
import { type Fork, memoryChoices } from "../core/fork.ts";
import { forkLimits } from "../core/fork-limits.ts";
import { count } from "./amount.ts";
import { sandbox, showSandbox } from "./sandbox.ts";

export const forkSandbox = z
  .strictObject({
    count: count(forkLimits.copies).default(forkLimits.copies.default).describe("number of copies"),
    memory: z
      .enum(memoryChoices)
      .default("auto")
      .describe("auto: copy memory if possible; required: fail if not; never: copy only files"),
  })
  .meta({ id: "ForkSandbox" });

export const fork = z
  .object({
    sandboxes: z.array(sandbox),
    memory: z.boolean().describe("true if the processes of the original continue in each copy"),
    why: z.string().nullable().describe("why only files were copied"),
    files: z
      .enum(["copy", "overlay", "snapshot"])
      .describe("how the files were copied: shared with the original, copied, or by a snapshot of the workspace"),
  })
  .meta({ id: "Fork" });

export function showFork({ records, memory, why, files }: Fork): z.output<typeof fork> {
  return { sandboxes: records.map(showSandbox), memory, why, files };
}
