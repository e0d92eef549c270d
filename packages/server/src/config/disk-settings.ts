import { diskShareLimits } from "../core/disk-share-limits.ts";

/** Settings of how the disk is divided. */
export const diskSettings = {
  namespace_storage_percent: {
    type: "number",
    range: diskShareLimits.namespacePercent,
    env: "CAISSON_NAMESPACE_STORAGE_PERCENT",
    help: "how much of the disk that a daemon can promise one namespace's sandboxes may hold; 100 for all of it",
  },
} as const;
