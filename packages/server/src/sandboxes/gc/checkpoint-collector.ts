import type { CheckpointRecords } from "../../core/checkpoint.ts";
import type { Collector } from "../../core/gc.ts";
import { gcLimits } from "./limits.ts";

/** Saved memory. Whoever made one deletes it: nothing else knows whether it is of use. */
export function checkpointCollector(records: Pick<CheckpointRecords, "sizes">): Collector {
  const none = { items: 0, bytes: 0 };
  return {
    kind: "checkpoints",
    budgetBytes: gcLimits.budgetBytes.checkpoints,
    look: async () => {
      const { bytes, largest } = await records.sizes(gcLimits.things);
      const things = largest.map(({ id, name, namespace, memoryBytes }) => ({
        ...{ id, name, namespace, bytes: memoryBytes, goes: false },
      }));
      return { bytes, unused: none, cacheBytes: 0, things };
    },
    collect: async () => none,
  };
}
