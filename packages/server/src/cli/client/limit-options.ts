import type { OptionSpecs, ParsedOptions } from "../options.ts";

/** What a sandbox or a session may use. */
export const limitOptions = {
  memory: { type: "string", short: "m", alias: "ram", value: "SIZE", help: "memory limit" },
  cpus: { type: "string", alias: "cpu", value: "N", help: "cores, fractions allowed" },
  processes: { type: "string", value: "N", help: "processes and threads at once" },
} as const satisfies OptionSpecs;

export function megabytes(options: ParsedOptions, name: string): number | undefined {
  const bytes = options.size(name);
  return bytes === undefined ? undefined : bytes / 1024 ** 2;
}
