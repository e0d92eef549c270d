import type { Range } from "../core/limits.ts";

/** Limits on package installations. */
export const packageLimits = {
  /** Maximum packages that one call names. */
  packages: 50,
  specCharacters: 200,
  lockfileCharacters: 1_024,
  timeoutMs: { default: 600_000, min: 1_000, max: 3_600_000 },
  /** Packages that are read of a package manager's report, packages that one answer lists, and size of a report. */
  installed: 2_000,
  listed: 10_000,
  reportBytes: 16 * 1024 ** 2,
  nameCharacters: 214,
  versionCharacters: 128,
  hashCharacters: 200,
  /** Length of the end of a package manager's output that the caller receives. */
  outputCharacters: 16_384,
  /** Packages that one entry of the audit log names. */
  noted: 20,
  /** Bytes that are read of one file of the host: configuration, certificates, or a program. */
  configBytes: 64 * 1024,
  certificateBytes: 256 * 1024,
  programBytes: 256 * 1024,
  registries: 16,
  folders: 16,
  /** Size of the cache of registry files: of one file, and of all together. */
  keptFileBytes: 512 * 1024 ** 2,
  keptMb: { default: 2_048, min: 0, max: 1_048_576 },
} as const satisfies Record<string, number | Range>;
