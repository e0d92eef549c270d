import type { Range } from "../core/limits.ts";

/** What bounds installations, like limits.ts. */
export const packageLimits = {
  /** That one call names. */
  packages: 50,
  specCharacters: 200,
  lockfileCharacters: 1_024,
  timeoutMs: { default: 600_000, min: 1_000, max: 3_600_000 },
  /** What a program tells of what it installed: packages, and bytes of its report. */
  installed: 2_000,
  listed: 10_000,
  reportBytes: 16 * 1024 ** 2,
  nameCharacters: 214,
  versionCharacters: 128,
  hashCharacters: 200,
  /** Of what a program says that a caller is shown, from its end. */
  outputCharacters: 16_384,
  /** That one entry of the audit log names. */
  noted: 20,
  /** Of the host's configuration. */
  configBytes: 64 * 1024,
  certificateBytes: 256 * 1024,
  programBytes: 256 * 1024,
  registries: 16,
  folders: 16,
  /** Of files of registries that are kept for the next that asks: each, and together unless told. */
  keptFileBytes: 512 * 1024 ** 2,
  keptMb: { default: 2_048, min: 0, max: 1_048_576 },
} as const satisfies Record<string, number | Range>;
