/** Frozen volumes that sandboxes share. */
export const layerLimits = {
  /** Layers of one data folder: each that is used takes a loop device of every engine that uses it. */
  layers: 4_096,
  /** A layer and those below it: the kernel looks for a name in each. */
  chain: 16,
  /** Mounted layers of one engine that no running sandbox needs: others are unmounted, the one that was used longest ago first. */
  idle: 16,
  recordBytes: 4_096,
  /** How long the layers of an engine that ends may take to leave their loop devices. */
  closeTimeoutMs: 10_000,
} as const;
