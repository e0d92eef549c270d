import type { OptionSpecs, ParsedOptions } from "../options.ts";

/** Limits of a sandbox or a session. */
export const limitOptions = {
  memory: { type: "string", short: "m", alias: "ram", value: "SIZE", help: "memory limit" },
  cpus: { type: "string", alias: "cpu", value: "N", help: "CPU cores; fractions allowed" },
  processes: { type: "string", value: "N", help: "limit of processes and threads" },
} as const satisfies OptionSpecs;

export function megabytes(options: ParsedOptions, name: string): number | undefined {
  const bytes = options.size(name);
  return bytes === undefined ? undefined : bytes / 1024 ** 2;
}
