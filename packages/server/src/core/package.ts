import type { Batch } from "./batch.ts";
/** Packages that a sandbox installs, and where they may come from (EXE-10, NET-13). */
import type { RuleDraft } from "./egress-policies.ts";

export const packageManagers = ["pip", "npm"] as const;
export type PackageManager = (typeof packageManagers)[number];

const pipVersion = "[A-Za-z0-9][A-Za-z0-9.!+_-]*";
const pipCondition = `(?:===?|~=|!=|<=|>=|<|>) *${pipVersion}(?:\\.\\*)?`;
const npmName = "(?:@[a-zA-Z0-9~-][a-zA-Z0-9._~-]*/[a-zA-Z0-9~-]|[a-zA-Z0-9~])[a-zA-Z0-9._~-]*";

/** Names with versions from a registry alone: no option, no path, no URL, no repository. */
export const packageNames: Readonly<Record<PackageManager, RegExp>> = {
  pip: new RegExp(
    `^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\\[[A-Za-z0-9._, -]*\\])?(?: *${pipCondition}(?: *, *${pipCondition})*)?$`,
  ),
  npm: new RegExp(`^${npmName}(?:@[A-Za-z0-9^~<>=*|.+ ][A-Za-z0-9^~<>=*|.+ -]*)?$`),
};

/** One version, and no other ever. */
export const pinnedPackages: Readonly<Record<PackageManager, RegExp>> = {
  pip: new RegExp(`^[^=<>!~]+===? *${pipVersion}$`),
  npm: /^.+@=?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/,
};

/** Path of pip's report of what it installed. */
export const pipReport = "/workspace/.packages/pip-report.json";

/** A part of a path: any name but `..`. */
const part = "(?:[^./\\u0000\\n][^/\\u0000\\n]*|\\.(?:[^./\\u0000\\n][^/\\u0000\\n]*)?|\\.\\.[^/\\u0000\\n]+)";

/** Paths in the workspace. */
export const lockfiles: Readonly<Record<PackageManager, RegExp>> = {
  pip: new RegExp(`^/?(?:${part}/+)*${part}$`),
  npm: new RegExp(`^/?(?:${part}/+)*(?:package-lock|npm-shrinkwrap)\\.json$`),
};

/** Hosts that programs of this machine get packages from, by name. */
export type PackageHosts = ReadonlyMap<string, PackageManager | "apt">;

/** A folder of this machine that packages come from, and where sandboxes find it. */
export interface PackageFolder {
  source: string;
  path: string;
}

/** Source of one package manager's packages, from this machine's own configuration. */
export interface Registry {
  /** Environment that points the program to it, for one run. */
  variables: Readonly<Record<string, string>>;
  /** Hosts that the run may connect to. */
  hosts: readonly RuleDraft[];
  folders: readonly PackageFolder[];
  /** Environment that names the trusted certificates; not needed where files are kept, since the daemon checks them. */
  trust: Readonly<Record<string, string>>;
  /** In PEM, of who signs for the registries, where sandboxes do not have it anyway. */
  certificates: string | null;
  /** True when the daemon may inspect the connections and cache immutable files: it trusts the same certificates. */
  keepsFiles: boolean;
  /** Why nothing can be installed from there. */
  problem: string | null;
}

export type Registries = Readonly<Record<PackageManager, Registry>>;

export interface InstallRequest {
  manager: PackageManager;
  /** With or without versions; none with a lockfile. */
  packages: readonly string[];
  /** A path in the workspace: requirements with hashes for pip, package-lock.json for npm. */
  lockfile?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** As the program that installed it tells it: the sandbox's word. */
export interface InstalledPackage {
  name: string;
  version: string;
  /** Hash of the downloaded file: `sha256:…`, `sha512-…`; null where the program reports none. */
  hash: string | null;
}

export interface PackageRecord extends InstalledPackage {
  sandboxId: string;
  manager: PackageManager;
  installedAtMs: number;
  installedBy: string;
}

/** Records of the packages installed last under each name, by sandbox. */
export interface PackageRecords {
  put(records: readonly PackageRecord[], within?: Batch): Promise<void>;
  list(sandboxId: string): Promise<PackageRecord[]>;
  deleteSandbox(sandboxId: string, within?: Batch): Promise<void>;
  /** Sandboxes that have records. */
  sandboxes(): Promise<string[]>;
}
