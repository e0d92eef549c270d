import type { SandboxFiles } from "../core/file.ts";
import type { InstalledPackage, InstallRequest } from "../core/package.ts";
import type { RunRequest, RunResult } from "../core/run.ts";

/** What an installation needs of a sandbox. */
export interface Workspace {
  readonly id: string;
  readonly files: SandboxFiles;
  exec(request: RunRequest): Promise<RunResult>;
}

/** How one package manager installs into a sandbox, and tells what it did. */
export interface Installer {
  /** As a policy about commands, and the log, see it. */
  command(request: InstallRequest): string[];
  /** What really runs. */
  run(request: InstallRequest): Pick<RunRequest, "command" | "env">;
  /** Called before the run; what it gives back is called after one that went well. */
  follow(sandbox: Workspace, request: InstallRequest): Promise<() => Promise<InstalledPackage[]>>;
}
