/** Limits of the vault. */
import { redactionLimits } from "../dlp/limits.ts";

const KiB = 1024;

export const secretLimits = {
  /** Shorter values are ordinary words, which redaction would find everywhere; those up to `warnBytes` may be. */
  valueBytes: { min: redactionLimits.leastBytes, max: redactionLimits.mostBytes },
  warnBytes: redactionLimits.warnBytes,
  perNamespace: 1_000,
  bindings: 1_000,
  /** Total size of one sandbox's values, and of those that are variables: an environment goes in one message. */
  sandboxBytes: 1024 * KiB,
  environmentBytes: 256 * KiB,
  variableBytes: 8 * KiB,
  perSandbox: redactionLimits.values,
  uses: { min: 1, max: 1_000_000 },
  lifetimeSeconds: { min: 1, max: 10 * 365 * 86_400 },
  hosts: 16,
  headerCharacters: 64,
  formatCharacters: 256,
  /** Size of a master key, size of its file, and keys that a ring may have during a rotation. */
  keyBytes: 32,
  keyFileBytes: 4 * KiB,
  keys: 8,
  keyCommandMs: 30_000,
  placeholderBytes: 20,
  /** Data keys that one step of a rotation wraps anew. */
  rewrapAtOnce: 64,
  /** How often a reader looks again whose record was wrapped anew meanwhile. */
  readTries: 5,
  /** The longest that nobody looks for what expires: the clock may have been set. */
  lookMs: 60_000,
} as const;
