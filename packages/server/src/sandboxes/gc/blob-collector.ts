import type { Blobs } from "../../core/blob.ts";
import type { Collector } from "../../core/gc.ts";
import type { ArtifactKeeper } from "../artifact-keeper.ts";
import type { Sweeper } from "../sweeper.ts";
import { markManifest } from "../tree-manifest.ts";
import { gcLimits } from "./limits.ts";

interface BlobCollectorParts {
  blobs: Blobs;
  artifacts: Pick<ArtifactKeeper, "forgetExpired">;
  sweeper: Pick<Sweeper, "sweep">;
  /** Of all that is not over yet. */
  manifests: () => Promise<string[]>;
}

/** Chunks that no snapshot, no skill and no artifact within its time needs. */
export function blobCollector({ blobs, artifacts, sweeper, manifests }: BlobCollectorParts): Collector {
  return {
    kind: "blobs",
    budgetBytes: gcLimits.budgetBytes.blobs,
    look: async () => {
      const found = await blobs.look(async (live) => {
        for (const manifest of await manifests()) await markManifest(blobs, manifest, live);
      });
      const { removed: items, removedBytes: bytes, keptBytes } = found;
      return { bytes: keptBytes + bytes, unused: { items, bytes }, cacheBytes: 0 };
    },
    collect: async () => {
      await artifacts.forgetExpired();
      const { removed, removedBytes } = await sweeper.sweep();
      return { items: removed, bytes: removedBytes };
    },
  };
}
