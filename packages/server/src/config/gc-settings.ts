import { gcLimits } from "../core/gc-limits.ts";

/** Settings of what is removed when nothing uses it. */
export const gcSettings = {
  "gc.watermark_percent": {
    type: "number",
    range: gcLimits.watermarkPercent,
    env: "CAISSON_GC_WATERMARK_PERCENT",
    help: "of the data folder's disk; when so much is used, what nothing needs is removed; at 100 only caisson gc does it",
  },
} as const;
