import { AppError } from "../core/errors.ts";
import type { HostSettings } from "../core/host-access.ts";
import { hostLimits } from "../host-access/limits.ts";
import type { Configuration } from "./config.ts";

/** Host access settings; undefined if host access is disabled. Patterns and folders are checked when they are used. */
export function hostOptions({
  settings,
  origins,
}: Pick<Configuration, "settings" | "origins">): { settings: HostSettings; runAs: string | null } | undefined {
  if (!settings["host.enabled"]) return undefined;
  const limits = {
    allow: "patterns",
    ask: "patterns",
    blocked: "patterns",
    read: "folders",
    write: "folders",
  } as const;
  for (const [name, what] of Object.entries(limits)) {
    const key = `host.${name as keyof typeof limits}` as const;
    if (settings[key].length > hostLimits[what])
      throw new AppError("invalid", `${origins[key]}: ${key}: too many ${what} (limit: ${hostLimits[what]})`);
  }
  return {
    runAs: settings["host.run_as"],
    settings: {
      allow: settings["host.allow"],
      ask: settings["host.ask"],
      blocked: settings["host.blocked"],
      unknown: settings["host.unknown"],
      namespaces: settings["host.namespaces"],
      folders: [
        ...settings["host.read"].map((path) => ({ path, writable: false })),
        ...settings["host.write"].map((path) => ({ path, writable: true })),
      ],
    },
  };
}
