import type { AptSources } from "../core/apt.ts";
import type { RuleDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import type { NamedFolder } from "../core/folder.ts";
import type { PackageFolder, PackageHosts, PackageManager, Registries, Registry } from "../core/package.ts";
import { packageManagers } from "../core/package.ts";
import { aptHost, readAptSources } from "./apt-sources.ts";
import type { MachineFiles } from "./machine-files.ts";
import { readRegistries } from "./read-registries.ts";

export interface FoundPackages {
  registries: Registries;
  /** For images. */
  apt: AptSources;
  /** Hosts of all of them, and those that the programs know by themselves, as they do in a sandbox. */
  knownHosts: PackageHosts;
  /** That sandboxes are given, read-only. */
  folders: PackageFolder[];
}

export interface FindParts {
  host: MachineFiles;
  /** That files come from beside the registries. */
  hosts: readonly RuleDraft[];
  /** Sources of images, in place of this machine's own. */
  apt?: readonly string[];
  /** Refuses what no sandbox may be given. */
  checkFolder: (folder: NamedFolder) => Promise<void>;
  log: (text: string) => void;
}

/** What this machine says about packages, for a daemon that sees nothing of it: folders by the paths in sandboxes alone. */
export async function findPackages({ host, hosts, apt: lines, checkFolder, log }: FindParts): Promise<FoundPackages> {
  const found = await readRegistries(host);
  const apt = await readAptSources(aptHost(host), lines);
  for (const left of apt.left) log(left);
  const folders: PackageFolder[] = [];
  for (const manager of packageManagers) {
    const { problem } = found[manager];
    if (problem !== null) log(`no packages of ${manager}: ${problem}`);
    folders.push(...(await usable(manager, found[manager].folders, checkFolder, log)));
  }
  const knownHosts = new Map<string, PackageManager | "apt">(apt.hosts.map(({ host }) => [host, "apt"]));
  for (const manager of packageManagers) {
    const builtIn = await host.builtIn(manager);
    const own = builtIn === null ? [] : [new URL(builtIn.url).hostname, builtIn.files ?? []].flat();
    for (const name of [...own, ...found[manager].hosts.map(({ host }) => host)]) knownHosts.set(name, manager);
  }
  const told = (registry: Registry) => ({ ...registry, hosts: [...registry.hosts, ...hosts], folders: [] });
  return { registries: { pip: told(found.pip), npm: told(found.npm) }, apt, knownHosts, folders };
}

/** A folder that no sandbox may be given is left out: the package manager then says that it is not there. */
async function usable(
  manager: PackageManager,
  folders: readonly PackageFolder[],
  check: FindParts["checkFolder"],
  log: FindParts["log"],
): Promise<PackageFolder[]> {
  const good: PackageFolder[] = [];
  for (const folder of folders) {
    try {
      await check({ id: manager, path: folder.source });
      good.push(folder);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log(`packages of ${manager}: ${error.message}`);
    }
  }
  return good;
}
