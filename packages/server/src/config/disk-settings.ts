import { diskShareLimits } from "../sandboxes/fleet/disk-share-limits.ts";

/** Settings of disk quotas. */
export const diskSettings = {
  namespace_storage_percent: {
    type: "number",
    range: diskShareLimits.namespacePercent,
    env: "CAISSON_NAMESPACE_STORAGE_PERCENT",
    help: "maximum share of the disk space for sandboxes that one namespace may use, in percent",
  },
} as const;
