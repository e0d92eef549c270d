import type { NetworkOptions } from "../core/egress-policies.ts";
import type { EngineName, SandboxLimits } from "../core/engine.ts";
import type { BackgroundPolicy } from "../core/process.ts";
import type { EngineChoice } from "../core/request.ts";
import type { RunLimits } from "../core/run.ts";
import type { RecordOptions } from "../core/run-record.ts";
import type { Configuration } from "./config.ts";

const MiB = 1024 ** 2;

/** Settings in internal units. */
export interface ConfiguredOptions {
  home: string;
  root: string;
  runtimePaths: Partial<Record<EngineName, string>>;
  engine: EngineChoice;
  limits: Partial<SandboxLimits>;
  runLimits: Partial<RunLimits>;
  listeners: boolean;
  background: BackgroundPolicy;
  network: NetworkOptions;
  /** If undefined, no run is recorded. */
  records?: RecordOptions;
}

export function caissonOptions({ home, root, settings }: Configuration): ConfiguredOptions {
  const { runsc_path: gvisor, runc_path: container } = settings;
  return {
    home,
    root,
    runtimePaths: { ...(gvisor === null ? {} : { gvisor }), ...(container === null ? {} : { container }) },
    engine: settings.engine,
    limits: {
      memoryBytes: Math.floor(settings.max_ram_mb * MiB),
      cpus: settings.max_cpu_cores,
      cpuShares: settings.cpu_shares,
      processes: settings.max_processes,
      storageBytes: Math.floor(settings.max_storage_mb * MiB),
    },
    runLimits: {
      timeoutMs: Math.round(settings.timeout_seconds * 1000),
      cpuTimeMs: Math.round(settings.cpu_time_seconds * 1000),
      outputBytes: settings.max_output_bytes,
    },
    listeners: settings["policy.listeners"],
    background: {
      allowed: settings["policy.background"],
      mostMs: Math.round(settings["policy.background_seconds"] * 1000),
    },
    network: {
      enabled: settings.enable_network,
      allow: settings.allowed_domains,
      deny: settings["network.deny"],
      unknown: settings["network.unknown"],
      dnsServers: settings["network.dns_servers"],
      ...(settings["network.ca_file"] === null ? {} : { caFile: settings["network.ca_file"] }),
    },
    ...(settings["runs.record"]
      ? {
          records: {
            keep: settings["runs.keep"],
            days: settings["runs.days"],
            outputBytes: settings["runs.output_bytes"],
          },
        }
      : {}),
  };
}
