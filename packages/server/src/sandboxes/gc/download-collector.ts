import type { Downloads } from "../../core/download.ts";
import type { Collector } from "../../core/gc.ts";

/** Files of registries: all of them can be fetched again, and whoever reads one reads it to its end. */
export function downloadCollector(
  downloads: Pick<Downloads, "heldBytes" | "trim">,
  { mostBytes }: { mostBytes: number },
): Collector {
  return {
    kind: "downloads",
    budgetBytes: mostBytes,
    look: async () => {
      const bytes = downloads.heldBytes();
      return { bytes, unused: { items: 0, bytes: 0 }, cacheBytes: bytes };
    },
    collect: (cacheBytes) => downloads.trim(cacheBytes),
  };
}
