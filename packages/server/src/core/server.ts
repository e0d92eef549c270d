/** Hosted MCP servers: code of others, each in a sandbox of its own, behind an endpoint of the gateway. */
import type { Batch } from "./batch.ts";
import type { PolicyDraft } from "./egress-policies.ts";
import type { SandboxLimits } from "./engine.ts";
import type { ChosenImage } from "./image-record.ts";
import type { LayerId } from "./layer.ts";
import type { PackageManager } from "./package.ts";
import type { Caller } from "./principal.ts";

/** Random and never given twice: keys and client configurations name it. */
export const serverIdPattern = /^[0-9a-f]{16}$/;
export const serverName = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Source of the code of a version. */
export type ServerSource =
  | { kind: "archive" }
  | { kind: "npm" | "pypi"; package: string; version: string }
  | { kind: "remote"; url: string };

/**
 * Settings of a server. They are no part of a version, and always the newest count: a rollback brings back neither a secret nor
 * an open domain (HOS-10).
 */
export interface ServerConfig {
  /** Starts the server; null: what the version's build found. */
  command: readonly string[] | null;
  /** Port of a server that speaks HTTP. */
  port: number;
  /** Image that the code is added to. */
  image: string;
  env: Readonly<Record<string, string>>;
  /** Names of secrets, as files below /run/secrets. */
  secrets: readonly string[];
  /** Everything else is denied. */
  network: PolicyDraft;
  limits: Partial<SandboxLimits>;
  idleTimeoutMs: number;
}

export const serverStates = ["stopped", "starting", "running", "stopping", "crash_loop"] as const;
export type ServerState = (typeof serverStates)[number];

export interface ServerRecord {
  id: string;
  namespace: string;
  /** Unique in its namespace. */
  name: string;
  config: ServerConfig;
  /** The version that answers calls; null until one has passed its check. */
  current: number | null;
  /** The number of the newest version: numbers are not given twice. */
  newest: number;
  /** /data as it was before a version that has not taken over yet: the next daemon puts it back. */
  savedSnapshotId: string | null;
  createdAtMs: number;
  createdBy: string;
}

export const versionStates = ["building", "checking", "ready", "failed"] as const;
type VersionState = (typeof versionStates)[number];

/** As the registry proxy delivered it, or (`claimed`) as the installer reports it. */
export interface ResolvedPackage {
  manager: PackageManager;
  name: string;
  version: string;
  sha256: string | null;
  claimed: boolean;
}

export const serverTransports = ["http", "stdio"] as const;
export type ServerTransport = (typeof serverTransports)[number];

/** The protocol that a server speaks: `legacy` up to 2025-11-25 (sessions), `modern` from 2026-07-28 on (none). */
export const serverEras = ["legacy", "modern"] as const;
export type ServerEra = (typeof serverEras)[number];

/** How a checked version is spoken to. */
export interface ServerContact {
  transport: ServerTransport;
  era: ServerEra;
  protocolVersion: string;
  /** Path of the endpoint of a server over HTTP. */
  path: string;
  /** Number of tools that it listed. */
  tools: number;
}

/** One deploy. It says which code runs, and nothing of what that code may do. */
export interface ServerVersion {
  serverId: string;
  number: number;
  state: VersionState;
  /** The step under way, or the one that failed. */
  step: string | null;
  error: string | null;
  /** True: its deployer may not bind secrets, so it runs without them until somebody who may confirms it. */
  held: boolean;
  source: ServerSource;
  /** SHA-256 of the archive, or of the package's name and version. */
  sourceDigest: string;
  /** SHA-256 over all inputs of the build; the same inputs are built once in a namespace. */
  inputsDigest: string;
  /** Null for a remote server. */
  image: ChosenImage | null;
  /** Root with the code; null until it is built, and for a remote server. */
  layerId: LayerId | null;
  bytes: number;
  /** Command that the build found; empty for a remote server. */
  command: readonly string[];
  /** Null until it passed its check. */
  contact: ServerContact | null;
  packages: readonly ResolvedPackage[];
  /** /data as it was when the next version took over; null: it was not kept. */
  dataSnapshotId: string | null;
  createdAtMs: number;
  createdBy: string;
}

export type VersionChanges = Partial<Omit<ServerVersion, "serverId" | "number" | "createdAtMs" | "createdBy">>;

/** Store of servers and their versions. Writes resolve when they would survive a kill -9. */
export interface ServerRecords {
  insert(record: ServerRecord, within?: Batch): Promise<void>;
  update(
    id: string,
    changes: Partial<Pick<ServerRecord, "name" | "config" | "current" | "newest" | "savedSnapshotId">>,
    within?: Batch,
  ): Promise<void>;
  /** All namespaces', newest first. */
  list(): Promise<ServerRecord[]>;
  /** With its versions. */
  delete(id: string, within?: Batch): Promise<void>;
  insertVersion(version: ServerVersion, within?: Batch): Promise<void>;
  updateVersion(serverId: string, number: number, changes: VersionChanges, within?: Batch): Promise<void>;
  /** All servers', newest first. */
  versions(): Promise<ServerVersion[]>;
  deleteVersion(serverId: string, number: number, within?: Batch): Promise<void>;
}

export interface DeployRequest {
  /** Name of a new server, or of the one that gets a new version. Default: the name of the package or folder. */
  name?: string;
  source: ServerSource;
  /** Settings to change with this deploy; the others stay as they are, or have their defaults. */
  config: Partial<ServerConfig>;
  /** Builds again what is built already. */
  rebuild?: boolean;
}

/** Content of an archive source: gzipped tar. */
export type ArchiveBody = AsyncIterable<Uint8Array>;

export interface Deployed {
  server: ServerRecord;
  version: ServerVersion;
}

/** Current state of a server. */
export interface ServerStatus {
  state: ServerState;
  /** Instances that run: one for HTTP, one for each principal and capability set for stdio. */
  instances: number;
  /** When the oldest of them started. */
  startedAtMs: number | null;
  /** Why it is in a crash loop: the end of its output. */
  failure: string | null;
  cpuMs: number;
  memoryBytes: number;
}

/** Calls of a server's tools since the daemon started. The times are of the newest calls; a server without calls has none. */
export interface CallStats {
  calls: number;
  errors: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
}

export type BuildMessage =
  | { type: "step"; step: string }
  | { type: "log"; data: string }
  | { type: "end"; state: VersionState; step: string | null; error: string | null };

export interface VersionDifference {
  field: string;
  from: string;
  to: string;
}

/** Hosted servers, as doors use them. A server is found by its id or name, in the caller's namespace. */
export interface HostedServers {
  /** Resolves when the upload is stored and the build has begun; `buildLog` tells the rest. */
  deploy(caller: Caller, request: DeployRequest, archive?: ArchiveBody): Promise<Deployed>;
  buildLog(caller: Caller, server: string, version: number, gone: AbortSignal): AsyncIterable<BuildMessage>;
  list(caller: Caller): Promise<ServerRecord[]>;
  get(caller: Caller, server: string): Promise<ServerRecord>;
  status(caller: Caller, server: string): Promise<ServerStatus>;
  /** `restarted`: its instances were stopped, since environment or command only change with a start. */
  change(
    caller: Caller,
    server: string,
    config: Partial<ServerConfig>,
  ): Promise<{ server: ServerRecord; restarted: boolean }>;
  /** Output of its instances, the newest last; with `follow` until `gone` is aborted. */
  logs(caller: Caller, server: string, options: { follow: boolean; gone: AbortSignal }): AsyncIterable<string>;
  restart(caller: Caller, server: string): Promise<void>;
  stop(caller: Caller, server: string): Promise<void>;
  /** With its versions, its data and its log. */
  delete(caller: Caller, server: string): Promise<void>;
  versions(caller: Caller, server: string): Promise<ServerVersion[]>;
  version(caller: Caller, server: string, number: number): Promise<ServerVersion>;
  diff(caller: Caller, server: string, from: number, to: number): Promise<VersionDifference[]>;
  /** Checks the older version and lets it take over; `data`: with /data as it was then. */
  rollback(caller: Caller, server: string, number: number, options: { data: boolean }): Promise<ServerVersion>;
  /** Confirms a held version: from then on it runs with the server's secrets. */
  confirm(caller: Caller, server: string, number: number): Promise<ServerVersion>;
}
