/** Commands and folders of the host that agents may use, once the operator has turned host access on (HST-01). */
import type { Approval } from "./approval.ts";
import type { Caller } from "./principal.ts";

export interface HostFolder {
  /** Absolute, without links. */
  path: string;
  writable: boolean;
}

export interface HostPolicy {
  /** Patterns of commands; see docs/host-access.md. What `blocked` matches is refused, whoever allows or approves it. */
  allow: readonly string[];
  ask: readonly string[];
  blocked: readonly string[];
  /** Decision on a command that no pattern matches. */
  unknown: "deny" | "ask";
  folders: readonly HostFolder[];
}

export interface HostSettings extends HostPolicy {
  /** Tenants whose keys may use it. */
  namespaces: readonly string[];
}

/** In its order: program, arguments. */
export type Argv = readonly string[];

export interface HostResult {
  exit_code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
  stdout_truncated: boolean;
  stderr_truncated: boolean;
  timed_out: boolean;
  duration_ms: number;
}

export interface HostPiece {
  bytes: Buffer;
  sizeBytes: number;
  /** Changes when the file is another one, or was written meanwhile. */
  version: string;
}

export interface HostEntry {
  name: string;
  type: "file" | "folder" | "link" | "other";
  size_bytes: number;
  modified_at: string;
}

export interface HostListing {
  entries: HostEntry[];
  truncated: boolean;
}

/** The user as whom things are done on the host: this process, or one that was started for it. It holds to the policy by itself. */
export interface HostHand {
  /** `approved`: the pattern that a human has approved, where none of the configuration's allows it. */
  exec(argv: Argv, options: { timeoutMs: number; approved?: string; signal?: AbortSignal }): Promise<HostResult>;
  read(path: string, range: { offset: number; length: number }): Promise<HostPiece>;
  write(path: string, bytes: Buffer): Promise<{ created: boolean }>;
  list(path: string): Promise<HostListing>;
}

/** As a caller may know it. */
export interface HostAccessList {
  allowed: readonly string[];
  asked: readonly string[];
  blocked: readonly string[];
  unknown: "deny" | "ask";
  /** Patterns that a human has approved, and those refused for always. */
  approved: readonly { pattern: string; approval_id: string }[];
  denied: readonly { pattern: string; approval_id: string }[];
  folders: readonly { path: string; access: "read" | "read-write" }[];
}

export interface HostAccess {
  exec(caller: Caller, command: string | Argv, options: HostExecOptions): Promise<HostResult>;
  request(caller: Caller, pattern: string, purpose: string | undefined): Promise<Approval>;
  list(caller: Caller): Promise<HostAccessList>;
  readFile(caller: Caller, path: string): Promise<{ bytes: Buffer; sizeBytes: number }>;
  writeFile(caller: Caller, path: string, bytes: Buffer): Promise<{ created: boolean }>;
  listFolder(caller: Caller, path: string): Promise<HostListing>;
  /** In pieces, for a sandbox. */
  openFile(caller: Caller, path: string): Promise<{ sizeBytes: number; pieces: AsyncIterable<Buffer> }>;
}

export interface HostExecOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** The descriptor of the host's process that leads to the daemon. */
export const hostSocket = 3;
