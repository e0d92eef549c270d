import { availableParallelism } from "node:os";
import type { FleetSettings } from "../core/fleet.ts";
import { caissonOptions } from "./caisson-options.ts";
import type { Configuration } from "./config.ts";

/** Fleet settings in internal units. */
export function fleetOptions(configuration: Configuration): FleetSettings {
  const { settings } = configuration;
  const { engine, limits: configured } = caissonOptions(configuration);
  const { storageBytes, ...limits } = configured;
  const isGiven = configuration.origins.max_storage_mb !== "default";
  return {
    engine,
    limits: { ...limits, ...(isGiven ? { storageBytes } : {}) },
    image: "host",
    idleTimeoutMs: Math.round(settings.idle_seconds * 1000),
    lifetimeMs: Math.round(Math.min(settings.lifetime_seconds, settings.max_lifetime_seconds) * 1000),
    maxLifetimeMs: Math.round(settings.max_lifetime_seconds * 1000),
    maxConcurrent: settings.max_concurrent_jobs,
    poolSize: settings["pool.size"],
    namespaceStoragePercent: settings.namespace_storage_percent,
    commands: {
      allow: settings["policy.commands_allow"],
      deny: settings["policy.commands_deny"],
      ask: settings["policy.commands_ask"],
    },
    keepArtifactsMs: Math.round(settings["artifacts.keep_seconds"] * 1000),
    startsAtOnce: Math.max(2, availableParallelism()),
  };
}
