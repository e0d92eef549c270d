import { AppError } from "../core/errors.ts";
import type { PackageFolder, PackageManager, Registries, Registry } from "../core/package.ts";
import { packageManagers } from "../core/package.ts";
import { parseAllowRule } from "../egress/check-rule.ts";
import { checkFolder } from "../host/folders.ts";
import { type HostFiles, hostFiles } from "./host-files.ts";
import { readRegistries } from "./read-registries.ts";

export interface FoundPackages {
  registries: Registries;
  /** That sandboxes are given, read-only. */
  folders: PackageFolder[];
}

/** What this machine says about packages, for a daemon that sees nothing of it: folders by the paths in sandboxes alone. */
export async function findPackages(
  { home, hosts, variables }: { home: string; hosts: readonly string[]; variables: HostFiles["variables"] },
  log: (text: string) => void,
): Promise<FoundPackages> {
  const more = hosts.map(parseAllowRule);
  const found = await readRegistries(hostFiles(variables));
  const folders: PackageFolder[] = [];
  for (const manager of packageManagers) folders.push(...(await usable(manager, found[manager], home, log)));
  const told = (registry: Registry) => ({ ...registry, hosts: [...registry.hosts, ...more], folders: [] });
  return { registries: { pip: told(found.pip), npm: told(found.npm) }, folders };
}

/** A folder that no sandbox may be given is left out: the package manager then says that it is not there. */
async function usable(
  manager: PackageManager,
  { folders, problem }: Registry,
  home: string,
  log: (text: string) => void,
): Promise<PackageFolder[]> {
  if (problem !== null) log(`no packages of ${manager}: ${problem}`);
  const good: PackageFolder[] = [];
  for (const folder of folders) {
    try {
      await checkFolder({ id: manager, path: folder.source }, "input", home);
      good.push(folder);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log(`packages of ${manager}: ${error.message}`);
    }
  }
  return good;
}
