import { unknownChoices } from "../core/egress.ts";
import { type Range, recordLimits, requestLimits } from "../core/limits.ts";
import { engineAliases, engineChoices } from "../core/request.ts";
import { egressLimits } from "../egress/limits.ts";
import { lifetimeLimits } from "../sandboxes/fleet/lifetime-limits.ts";
import { poolLimits, queueLimits } from "../sandboxes/fleet/limits.ts";
import { keptArtifactLimits } from "../sandboxes/snapshot-limits.ts";
import { addressSettings } from "./address-settings.ts";
import { approvalSettings } from "./approval-settings.ts";
import { auditSettings } from "./audit-settings.ts";
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
    | { type: "url"; default: null }
    | { type: "database"; default: string }
    | { type: "list"; default: readonly string[] }
    | { type: "networks"; default: readonly string[] }
  );

/** Every setting: its key in caisson.yaml, its environment variable, its type and range. */
const settingSpecs = {
  engine: {
    type: "choice",
    choices: engineChoices,
    aliases: engineAliases,
    default: "auto",
    env: "CAISSON_ENGINE",
    otherEnv: "CAISSON_BACKEND",
    alias: "default_backend",
    help: "engine that runs sandboxes; auto: the strongest that works on this machine",
  },
  max_ram_mb: {
    type: "number",
    range: inMb(requestLimits.memoryBytes),
    env: "CAISSON_MAX_RAM_MB",
    help: "memory limit of a sandbox, in MB",
  },
  max_cpu_cores: {
    type: "number",
    range: requestLimits.cpus,
    env: "CAISSON_MAX_CPU_CORES",
    help: "CPU cores of a sandbox; fractions allowed",
  },
  cpu_shares: {
    type: "number",
    range: requestLimits.cpuShares,
    whole: true,
    env: "CAISSON_CPU_SHARES",
    help: "CPU weight of a sandbox relative to others when cores are scarce",
  },
  max_processes: {
    type: "number",
    range: requestLimits.processes,
    whole: true,
    env: "CAISSON_MAX_PROCESSES",
    help: "limit of processes and threads of a sandbox",
  },
  max_storage_mb: {
    type: "number",
    range: inMb(requestLimits.storageBytes),
    env: "CAISSON_MAX_STORAGE_MB",
    help: "workspace size limit of a sandbox, in MB; if not set, the daemon uses less on a small disk: 1/32 of the space that is free when it starts, at least 512",
  },
  ...diskSettings,
  timeout_seconds: {
    type: "number",
    range: inSeconds(requestLimits.timeoutMs),
    env: "CAISSON_TIMEOUT",
    help: "wall-clock limit of a run, in seconds; caisson run has no limit unless this or --timeout is set",
  },
  cpu_time_seconds: {
    type: "number",
    range: inSeconds(requestLimits.cpuTimeMs),
    env: "CAISSON_CPU_TIME",
    help: "CPU time limit of a run, in seconds",
  },
  max_output_bytes: {
    type: "number",
    range: requestLimits.outputBytes,
    whole: true,
    env: "CAISSON_MAX_OUTPUT_BYTES",
    help: "maximum bytes of stdout, and of stderr, in a result",
  },
  "runs.record": {
    type: "boolean",
    default: true,
    env: "CAISSON_RUNS_RECORD",
    help: "keep a record of each run in the data folder",
  },
  "runs.keep": {
    type: "number",
    range: recordLimits.keep,
    whole: true,
    env: "CAISSON_RUNS_KEEP",
    help: "maximum number of records per sandbox",
  },
  "runs.days": {
    type: "number",
    range: recordLimits.days,
    env: "CAISSON_RUNS_DAYS",
    help: "days after which a record is deleted",
  },
  "runs.output_bytes": {
    type: "number",
    range: recordLimits.outputBytes,
    whole: true,
    env: "CAISSON_RUNS_OUTPUT_BYTES",
    help: "maximum bytes of stdout, and of stderr, in a record",
  },
  "policy.listeners": {
    type: "boolean",
    default: true,
    env: "CAISSON_POLICY_LISTENERS",
    help: "allow code to listen on ports inside its sandbox",
  },
  "policy.background": {
    type: "boolean",
    default: true,
    env: "CAISSON_POLICY_BACKGROUND",
    help: "allow background processes, which outlive the call that starts them",
  },
  "policy.background_seconds": {
    type: "number",
    range: { ...inSeconds(requestLimits.processTimeMs), default: requestLimits.processTimeMs.max / 1000 },
    env: "CAISSON_POLICY_BACKGROUND_SECONDS",
    help: "maximum run time of a background process, in seconds",
  },
  runsc_path: {
    type: "path",
    default: null,
    env: "CAISSON_RUNSC",
    help: "path of gVisor's runsc; none: the one built by setup, then the system's",
  },
  runc_path: {
    type: "path",
    default: null,
    env: "CAISSON_RUNC",
    help: "path of runc; none: the system's",
  },
  enable_network: {
    type: "boolean",
    default: true,
    env: "CAISSON_NETWORK",
    help: "allow network access by rules; if false, no sandbox has network access",
  },
  allowed_domains: {
    type: "list",
    default: [],
    env: "CAISSON_ALLOWED_DOMAINS",
    help: "domains that every sandbox may connect to: api.example.com, *.example.com, db.example.com:5432",
  },
  "network.deny": {
    type: "list",
    default: [],
    env: "CAISSON_NETWORK_DENY",
    help: "domains and networks that no sandbox may connect to, even if another rule allows it: *.example.com, 203.0.113.0/24",
  },
  "network.unknown": {
    type: "choice",
    choices: unknownChoices,
    default: "deny",
    env: "CAISSON_NETWORK_UNKNOWN",
    help: "how to handle hosts that match no rule, if no policy decides it",
  },
  "network.dns_servers": {
    type: "list",
    default: [],
    env: "CAISSON_NETWORK_DNS_SERVERS",
    help: "DNS servers for connections of sandboxes, in place of this machine's DNS servers and hosts file: 10.0.0.2, 127.0.0.1:5353",
  },
  "network.ca_file": {
    type: "path",
    default: null,
    env: "CAISSON_NETWORK_CA_FILE",
    help: "file of extra CA certificates (PEM) for inspected TLS; the daemon's user must be able to read it",
  },
  "network.max_rules": {
    type: "number",
    range: egressLimits.sandboxRules,
    whole: true,
    env: "CAISSON_NETWORK_MAX_RULES",
    help: "maximum number of rules per sandbox",
  },
  ...addressSettings,
  "webhooks.allow_private": {
    type: "boolean",
    default: false,
    env: "CAISSON_WEBHOOKS_ALLOW_PRIVATE",
    help: "allow webhooks to this machine and private networks",
  },
  max_concurrent_jobs: {
    type: "number",
    range: queueLimits.concurrent,
    whole: true,
    env: "CAISSON_MAX_CONCURRENT",
    help: "maximum number of concurrent runs and cold starts; others wait",
  },
  "pool.size": {
    type: "number",
    range: poolLimits.size,
    whole: true,
    env: "CAISSON_POOL_SIZE",
    help: "sandboxes per image and engine that are started in advance; 0 disables this",
  },
  idle_seconds: {
    type: "number",
    range: inSeconds(lifetimeLimits.idleTimeoutMs),
    env: "CAISSON_IDLE_SECONDS",
    help: "time without use after which a sandbox is stopped, in seconds",
  },
  lifetime_seconds: {
    type: "number",
    range: inSeconds(lifetimeLimits.lifetimeMs),
    env: "CAISSON_LIFETIME",
    help: "age at which a sandbox is destroyed, in seconds",
  },
  max_lifetime_seconds: {
    type: "number",
    range: { ...inSeconds(lifetimeLimits.lifetimeMs), default: lifetimeLimits.lifetimeMs.max / 1000 },
    env: "CAISSON_MAX_LIFETIME",
    help: "maximum lifetime that a request may set, in seconds",
  },
  "policy.commands_allow": {
    type: "list",
    default: [],
    env: "CAISSON_POLICY_COMMANDS_ALLOW",
    help: "commands that sandboxes may run, as patterns with * or category:NAME; none: all commands",
  },
  "policy.commands_deny": {
    type: "list",
    default: [],
    env: "CAISSON_POLICY_COMMANDS_DENY",
    help: "commands that are refused, as patterns; overrides policy.commands_allow",
  },
  "policy.commands_ask": {
    type: "list",
    default: [],
    env: "CAISSON_POLICY_COMMANDS_ASK",
    help: "commands that require approval, as patterns",
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
    help: "time that /workspace/output of a destroyed sandbox is kept, in seconds; sandboxes may set their own",
  },
  "folders.input": {
    type: "list",
    default: [],
    env: "CAISSON_FOLDERS_INPUT",
    help: "folders of this machine that sandboxes may copy to /workspace/input, as NAME=PATH",
  },
  "folders.output": {
    type: "list",
    default: [],
    env: "CAISSON_FOLDERS_OUTPUT",
    help: "folders of this machine that sandboxes may copy /workspace/output to, as NAME=PATH",
  },
  vault: {
    type: "choice",
    choices: ["store", "env", "memory"],
    default: "store",
    env: "CAISSON_VAULT",
    help: "source of the daemon's secrets: store (encrypted store and environment) or env (environment only); memory is only for the library and caisson run",
  },
  vault_key_command: {
    type: "list",
    default: [],
    env: "CAISSON_VAULT_KEY_COMMAND",
    help: "program and arguments that print the vault's master key when the daemon starts",
  },
  ...auditSettings,
  sqlite_path: {
    type: "database",
    default: "caisson.db",
    env: "CAISSON_SQLITE_PATH",
    help: "file name of the daemon's database in the data folder",
  },
} as const satisfies Record<string, SettingSpec>;

export type SettingName = keyof typeof settingSpecs;

type ValueOf<S extends SettingSpec> = S extends { type: "choice"; choices: readonly (infer C)[] }
  ? C
  : S extends { type: "number" }
    ? number
    : S extends { type: "boolean" }
      ? boolean
      : S extends { type: "path" | "user" | "url" }
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
