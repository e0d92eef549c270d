import type { Range } from "../../core/limits.ts";

const MiB = 1024 ** 2;

/** Limits on pages that a browser opens. */
export const browserLimits = {
  /** Time limit of a page, from its first request on; `aroundMs` comes on top. */
  timeoutSeconds: { default: 30, min: 1, max: 120 },
  /** A page that has loaded and goes on loading is taken as it is after so long. */
  settleMs: 3_000,
  /** For starting the browser, ending scripts and reading what is there. */
  aroundMs: 90_000,
  selectorCharacters: 512,
  /** Nodes of the document that are read. */
  nodes: 100_000,
  /** The window, and how far down a picture of the whole page goes; in pixels. */
  width: 1_280,
  height: 800,
  wholeHeight: 8_000,
  pictureBytes: 2 * MiB,
  /** Maximum size of the browser's report on a page, apart from content and picture. */
  headCharacters: 65_536,
  urlCharacters: 8_192,
  titleCharacters: 300,
  /** Resources of the browser's sandbox. */
  memoryBytes: 1_024 * MiB,
  storageBytes: 64 * MiB,
  processes: 256,
  cpus: 2,
  /** Minimum resources of a caller's own sandbox in which pages are opened. */
  leastMemoryBytes: 384 * MiB,
  leastProcesses: 128,
  idleTimeoutMs: 120_000,
  lifetimeMs: 3_600_000,
  /** Pages of one sandbox, which are opened one after the other. */
  waiting: 8,
  /** Sandboxes that are known to have been used. */
  remembered: 4_096,
  /** Attempts of a page that are looked through, and hosts that are told of. */
  attempts: 500,
  blocked: 20,
} as const satisfies Record<string, number | Range>;
