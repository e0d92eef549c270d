import { gcLimits } from "../sandboxes/gc/limits.ts";

/** Settings of garbage collection. */
export const gcSettings = {
  "gc.watermark_percent": {
    type: "number",
    range: gcLimits.watermarkPercent,
    env: "CAISSON_GC_WATERMARK_PERCENT",
    help: "disk usage of the data folder, in percent, that starts garbage collection; 100: only caisson gc starts it",
  },
} as const;
