import { AppError } from "../../core/errors.ts";
import type { TemplateBench } from "../../core/fleet.ts";
import type { CreationParts } from "./creation.ts";

type BenchParts = Pick<CreationParts, "registry" | "lifecycle" | "seeds" | "templatePools">;

/** What the making of templates needs beside what everybody may do with a sandbox. */
export function templateBench(parts: BenchParts): TemplateBench {
  const { registry, lifecycle, seeds, templatePools } = parts;
  return {
    freeze: (caller, id) => lifecycle.freeze(registry.find(caller, id), caller),
    prime: (template, signal) => seeds.prime(template, signal),
    discard: async (id) => {
      const member = registry.get(id);
      if (member === undefined) return;
      await lifecycle.destroy(member, undefined, "its template is made, or is not").catch(ignoreMissing);
      registry.delete(member);
    },
    forget: async (templateId) => {
      await templatePools.close(templateId);
      await seeds.drop(templateId);
    },
  };
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof AppError && error.code === "not_found")) throw error;
}
