import type { Transport } from "./transport.ts";

export type PackageManager = "pip" | "npm";

export interface InstallPackages {
  manager: PackageManager;
  /** Names, with or without versions: `name==1.2.3` for pip, `name@1.2.3` for npm. */
  packages?: readonly string[];
  /** In the workspace, in place of packages: requirements with hashes for pip, package-lock.json for npm. */
  lockfile?: string;
  timeout_seconds?: number;
}

export interface InstalledPackage {
  name: string;
  version: string;
  /** Hash of the downloaded file, as the package manager reports it. */
  hash: string | null;
}

export interface InstallOutcome {
  exit_code: number;
  timed_out: boolean;
  oom_killed: boolean;
  duration_ms: number;
  /** Packages that are new, or have another version than before. */
  installed: InstalledPackage[];
  /** The end of what the package manager said. */
  output: string;
}

export interface PackageRecord extends InstalledPackage {
  manager: PackageManager;
  installed_at: string;
  installed_by: string;
}

/** Packages of one sandbox, from the registries that the daemon's machine is configured for. */
export class Packages {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, sandboxPath: string) {
    this.#transport = transport;
    this.#path = `${sandboxPath}/packages`;
  }

  /** Whatever its exit code. */
  install(request: InstallPackages): Promise<InstallOutcome> {
    return this.#transport.json("POST", this.#path, { json: request, timeoutMs: null });
  }

  /** Those that were installed this way, by name. */
  list(): Promise<PackageRecord[]> {
    return this.#transport.json("GET", this.#path);
  }
}
