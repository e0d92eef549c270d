import type { CommandHandle } from "../core/command-handle.ts";
import type { InstalledPackage, InstallRequest } from "../core/package.ts";

/** What an installation needs of a sandbox beside the run itself. */
export type Workspace = Pick<CommandHandle, "files">;

/** How one package manager installs into a sandbox, and tells what it did. */
export interface Installer {
  /** The program with its arguments: policy judges it and a human is shown it (S106). */
  argv(request: InstallRequest): string[];
  variables: Readonly<Record<string, string>>;
  /** Called before the run; what it gives back is called after one that went well. */
  follow(sandbox: Workspace, request: InstallRequest): Promise<() => Promise<InstalledPackage[]>>;
}
