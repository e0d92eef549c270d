import type { InstalledPackage, InstallRequest } from "../core/package.ts";
import type { RunRequest } from "../core/run.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";

/** How one package manager installs into a sandbox, and tells what it did. */
export interface Installer {
  /** As a policy about commands, and the log, see it. */
  command(request: InstallRequest): string[];
  /** What really runs. */
  run(request: InstallRequest): Pick<RunRequest, "command" | "env">;
  /** Called before the run; what it gives back is called after one that went well. */
  follow(sandbox: Sandbox, request: InstallRequest): Promise<() => Promise<InstalledPackage[]>>;
}
