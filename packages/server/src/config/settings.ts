import { unknownChoices } from "../core/egress.ts";
import { egressLimits } from "../core/egress-limits.ts";
import { fleetLimits, poolLimits, queueLimits } from "../core/fleet-limits.ts";
import { portLimits } from "../core/http-limits.ts";
import { type Range, recordLimits, requestLimits, serviceLimits } from "../core/limits.ts";
import { engineAliases, engineChoices } from "../core/request.ts";
import { keptArtifactLimits } from "../core/snapshot-limits.ts";
import { auditLimits } from "../core/store-limits.ts";
import { approvalSettings } from "./approval-settings.ts";
import { diskSettings } from "./disk-settings.ts";
import { gcSettings } from "./gc-settings.ts";
import { hostSettings } from "./host-settings.ts";
import { imageSettings } from "./image-settings.ts";
import { mcpSettings } from "./mcp-settings.ts";
import { packageSettings } from "./package-settings.ts";
import { inMb, inSeconds } from "./units.ts";
import { webSettings } from "./web-settings.ts";

interface Common {
  /** The environment variable. */
  env: string;
  /** Another name of the variable. */
  otherEnv?: string;
  help: string;
  /** Another name of the key in YAML. */
  alias?: string;
}

export type Value = string | number | boolean | readonly string[] | null;

export type SettingSpec = Common &
  (
    | { type: "number"; range: Range; whole?: boolean }
    | { type: "choice"; choices: readonly string[]; aliases?: Readonly<Record<string, string>>; default: string }
    | { type: "boolean"; default: boolean }
    | { type: "path"; default: null }
    | { type: "user"; default: null }
    | { type: "address"; default: string }
    | { type: "database"; default: string }
    | { type: "list"; default: readonly string[] }
  );

/** Every setting: its key in caisson.yaml, its variable, what it may be. */
const settingSpecs = {
  engine: {
    type: "choice",
    choices: engineChoices,
    aliases: engineAliases,
    default: "auto",
    env: "CAISSON_ENGINE",
    otherEnv: "CAISSON_BACKEND",
    alias: "default_backend",
    help: "which engine makes sandboxes; auto is the strongest that works here",
  },
  max_ram_mb: {
    type: "number",
    range: inMb(requestLimits.memoryBytes),
    env: "CAISSON_MAX_RAM_MB",
    help: "memory of a sandbox, in MB",
  },
  max_cpu_cores: {
    type: "number",
    range: requestLimits.cpus,
    env: "CAISSON_MAX_CPU_CORES",
    help: "cores of a sandbox, fractions allowed",
  },
  cpu_shares: {
    type: "number",
    range: requestLimits.cpuShares,
    whole: true,
    env: "CAISSON_CPU_SHARES",
    help: "weight against other sandboxes when cores are short",
  },
  max_processes: {
    type: "number",
    range: requestLimits.processes,
    whole: true,
    env: "CAISSON_MAX_PROCESSES",
    help: "processes of a sandbox",
  },
  max_storage_mb: {
    type: "number",
    range: inMb(requestLimits.storageBytes),
    env: "CAISSON_MAX_STORAGE_MB",
    help: "workspace of a sandbox, in MB; unless it is set, a daemon's sandboxes get less on a small disk: a 32nd of what is free as it starts, at least 512",
  },
  ...diskSettings,
  timeout_seconds: {
    type: "number",
    range: inSeconds(requestLimits.timeoutMs),
    env: "CAISSON_TIMEOUT",
    help: "wall clock of a run; caisson run has none unless this is set or --timeout is given",
  },
  cpu_time_seconds: {
    type: "number",
    range: inSeconds(requestLimits.cpuTimeMs),
    env: "CAISSON_CPU_TIME",
    help: "CPU seconds of a run",
  },
  max_output_bytes: {
    type: "number",
    range: requestLimits.outputBytes,
    whole: true,
    env: "CAISSON_MAX_OUTPUT_BYTES",
    help: "what a result holds of each of stdout and stderr",
  },
  "runs.record": {
    type: "boolean",
    default: true,
    env: "CAISSON_RUNS_RECORD",
    help: "whether a record of each run is kept in the data folder",
  },
  "runs.keep": {
    type: "number",
    range: recordLimits.keep,
    whole: true,
    env: "CAISSON_RUNS_KEEP",
    help: "records kept for a sandbox, at most",
  },
  "runs.days": {
    type: "number",
    range: recordLimits.days,
    env: "CAISSON_RUNS_DAYS",
    help: "days after which a record goes",
  },
  "runs.output_bytes": {
    type: "number",
    range: recordLimits.outputBytes,
    whole: true,
    env: "CAISSON_RUNS_OUTPUT_BYTES",
    help: "what a record holds of each of stdout and stderr",
  },
  "policy.listeners": {
    type: "boolean",
    default: true,
    env: "CAISSON_POLICY_LISTENERS",
    help: "whether code may open listeners inside its sandbox",
  },
  "policy.background": {
    type: "boolean",
    default: true,
    env: "CAISSON_POLICY_BACKGROUND",
    help: "whether processes may be started that outlive the call which starts them",
  },
  "policy.background_seconds": {
    type: "number",
    range: { ...inSeconds(requestLimits.processTimeMs), default: requestLimits.processTimeMs.max / 1000 },
    env: "CAISSON_POLICY_BACKGROUND_SECONDS",
    help: "the longest that such a process may run",
  },
  runsc_path: {
    type: "path",
    default: null,
    env: "CAISSON_RUNSC",
    help: "gVisor's runsc, where neither the one that set-up built nor the system's is meant",
  },
  runc_path: {
    type: "path",
    default: null,
    env: "CAISSON_RUNC",
    help: "runc, where it does not lie among the system's programs",
  },
  enable_network: {
    type: "boolean",
    default: true,
    env: "CAISSON_NETWORK",
    help: "whether rules count at all; without it nothing leaves any sandbox",
  },
  allowed_domains: {
    type: "list",
    default: [],
    env: "CAISSON_ALLOWED_DOMAINS",
    help: "rules for what every sandbox may reach: api.example.com, *.example.com, db.example.com:5432",
  },
  "network.deny": {
    type: "list",
    default: [],
    env: "CAISSON_NETWORK_DENY",
    help: "rules for what no sandbox may reach, whoever allows it: *.example.com, 203.0.113.0/24",
  },
  "network.unknown": {
    type: "choice",
    choices: unknownChoices,
    default: "deny",
    env: "CAISSON_NETWORK_UNKNOWN",
    help: "what becomes of a name that no rule knows, where no policy says it",
  },
  "network.dns_servers": {
    type: "list",
    default: [],
    env: "CAISSON_NETWORK_DNS_SERVERS",
    help: "name servers for what sandboxes reach, in place of this machine's own and its hosts file: 10.0.0.2, 127.0.0.1:5353",
  },
  "network.ca_file": {
    type: "path",
    default: null,
    env: "CAISSON_NETWORK_CA_FILE",
    help: "certificates in PEM, which the daemon's user can read, that hosts may prove themselves by beside this machine's own, where rules inspect TLS",
  },
  "network.max_rules": {
    type: "number",
    range: egressLimits.sandboxRules,
    whole: true,
    env: "CAISSON_NETWORK_MAX_RULES",
    help: "rules that a daemon's sandbox may have of its own",
  },
  port: {
    type: "number",
    range: serviceLimits.port,
    whole: true,
    env: "CAISSON_PORT",
    help: "where the daemon listens",
  },
  listen: {
    type: "address",
    default: "127.0.0.1",
    env: "CAISSON_LISTEN",
    help: "the address on which the daemon listens",
  },
  listen_without_tls: {
    type: "boolean",
    default: false,
    env: "CAISSON_LISTEN_WITHOUT_TLS",
    help: "whether it may listen where others can reach it: keys and files then cross the network unencrypted",
  },
  "ports.port": {
    type: "number",
    range: portLimits.listen,
    whole: true,
    env: "CAISSON_PORTS_PORT",
    help: "the port, on loopback, at which browsers find the ports of a daemon's sandboxes; 0 for the one after its own",
  },
  hosts: {
    type: "list",
    default: [],
    env: "CAISSON_HOSTS",
    help: "names beside localhost by which the daemon may be called",
  },
  origins: {
    type: "list",
    default: [],
    env: "CAISSON_ORIGINS",
    help: "origins of web pages that may call the daemon",
  },
  "webhooks.allow_private": {
    type: "boolean",
    default: false,
    env: "CAISSON_WEBHOOKS_ALLOW_PRIVATE",
    help: "whether webhooks may go to this machine and its networks",
  },
  max_concurrent_jobs: {
    type: "number",
    range: queueLimits.concurrent,
    whole: true,
    env: "CAISSON_MAX_CONCURRENT",
    help: "runs and cold starts of a daemon at the same time; the others wait",
  },
  "pool.size": {
    type: "number",
    range: poolLimits.size,
    whole: true,
    env: "CAISSON_POOL_SIZE",
    help: "sandboxes of each image and engine, the same number for all, that a daemon has started before they are asked for; 0 for none",
  },
  idle_seconds: {
    type: "number",
    range: inSeconds(fleetLimits.idleTimeoutMs),
    env: "CAISSON_IDLE_SECONDS",
    help: "a daemon's sandbox that nobody uses for so long is stopped",
  },
  lifetime_seconds: {
    type: "number",
    range: inSeconds(fleetLimits.lifetimeMs),
    env: "CAISSON_LIFETIME",
    help: "a daemon's sandbox of this age is destroyed",
  },
  max_lifetime_seconds: {
    type: "number",
    range: { ...inSeconds(fleetLimits.lifetimeMs), default: fleetLimits.lifetimeMs.max / 1000 },
    env: "CAISSON_MAX_LIFETIME",
    help: "the longest lifetime that may be asked for",
  },
  "policy.commands_allow": {
    type: "list",
    default: [],
    env: "CAISSON_POLICY_COMMANDS_ALLOW",
    help: "commands that a daemon runs, as patterns with * or category:NAME; empty for all",
  },
  "policy.commands_deny": {
    type: "list",
    default: [],
    env: "CAISSON_POLICY_COMMANDS_DENY",
    help: "commands that a daemon refuses, likewise; they win",
  },
  "policy.commands_ask": {
    type: "list",
    default: [],
    env: "CAISSON_POLICY_COMMANDS_ASK",
    help: "commands that take a human's approval, likewise",
  },
  ...approvalSettings,
  ...packageSettings,
  ...gcSettings,
  ...imageSettings,
  ...mcpSettings,
  ...webSettings,
  ...hostSettings,
  "artifacts.keep_seconds": {
    type: "number",
    range: inSeconds(keptArtifactLimits.keepMs),
    env: "CAISSON_ARTIFACTS_KEEP",
    help: "how long a daemon keeps what a destroyed sandbox left in /workspace/output, where its creation names no time",
  },
  "folders.input": {
    type: "list",
    default: [],
    env: "CAISSON_FOLDERS_INPUT",
    help: "folders of this machine that a daemon's sandboxes may ask to be copied to /workspace/input, as NAME=PATH",
  },
  "folders.output": {
    type: "list",
    default: [],
    env: "CAISSON_FOLDERS_OUTPUT",
    help: "folders of this machine into which a daemon's sandboxes may ask that /workspace/output be copied, as NAME=PATH",
  },
  vault: {
    type: "choice",
    choices: ["store", "env", "memory"],
    default: "store",
    env: "CAISSON_VAULT",
    help: "where a daemon's secrets come from: its encrypted store and its environment, or its environment alone; memory where no daemon is",
  },
  vault_key_command: {
    type: "list",
    default: [],
    env: "CAISSON_VAULT_KEY_COMMAND",
    help: "a program, with its arguments, that prints the vault's master key as the daemon starts",
  },
  audit: {
    type: "choice",
    choices: ["memory", "sqlite"],
    default: "sqlite",
    env: "CAISSON_AUDIT",
    help: "where the audit log is kept; memory where no daemon is",
  },
  audit_days: {
    type: "number",
    range: auditLimits.days,
    env: "CAISSON_AUDIT_DAYS",
    help: "days after which a daemon's audit log forgets",
  },
  sqlite_path: {
    type: "database",
    default: "caisson.db",
    env: "CAISSON_SQLITE_PATH",
    help: "the name of a daemon's database, which lies in its part of the data folder",
  },
} as const satisfies Record<string, SettingSpec>;

export type SettingName = keyof typeof settingSpecs;

type ValueOf<S extends SettingSpec> = S extends { type: "choice"; choices: readonly (infer C)[] }
  ? C
  : S extends { type: "number" }
    ? number
    : S extends { type: "boolean" }
      ? boolean
      : S extends { type: "path" | "user" }
        ? string | null
        : S extends { type: "address" | "database" }
          ? string
          : readonly string[];

export type Settings = { [N in SettingName]: ValueOf<(typeof settingSpecs)[N]> };

export const settingNames = Object.keys(settingSpecs) as SettingName[];

export function specOf(name: SettingName): SettingSpec {
  return settingSpecs[name];
}

export function defaultOf(spec: SettingSpec): Value {
  return spec.type === "number" ? spec.range.default : spec.default;
}
