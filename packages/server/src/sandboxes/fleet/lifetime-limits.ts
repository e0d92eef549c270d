/** How long a sandbox of a daemon lives, unless its creator or a setting says otherwise. */
export const lifetimeLimits = {
  /** Time without use after which a sandbox is stopped or destroyed. */
  idleTimeoutMs: { default: 1_800_000, min: 1_000, max: 2_592_000_000 },
  /** Time from its creation after which it is destroyed, in use or not. */
  lifetimeMs: { default: 86_400_000, min: 1_000, max: 2_592_000_000 },
} as const;
