import type { JsonBounds } from "../lib/json-scan.ts";

const KiB = 1024;

/** Shapes of JSON from outside. What it may have in bytes stands with each reader. */
export const jsonLimits = {
  /** Limits of JSON that one of our schemas reads: a request, an index, a line of a protocol. */
  request: { values: 24_000, names: 12_000, depth: 64, wordBytes: 8 * KiB },
  /** Trees of anything: the input of tools, results of programs, documents of registries. */
  data: { values: 250_000, names: 60_000, depth: 200, wordBytes: 8 * KiB },
  /** A few fields about a terminal. */
  terminal: { values: 16, names: 8, depth: 2, wordBytes: 32 },
} as const satisfies Record<string, JsonBounds>;
