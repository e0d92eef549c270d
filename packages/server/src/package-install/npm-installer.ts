import { posix } from "node:path";
import type { InstalledPackage, InstallRequest } from "../core/package.ts";
import type { Installer, Workspace } from "./installer.ts";
import { packageLimits } from "./limits.ts";
import { asPackage, dig, type Reader, readReport } from "./read-report.ts";

/** Where node_modules comes to lie: the workspace, or beside the lockfile. */
function folderOf({ lockfile }: InstallRequest): string {
  return lockfile === undefined ? "/workspace" : posix.dirname(posix.resolve("/workspace", lockfile));
}

function words(request: InstallRequest): string[] {
  return request.lockfile === undefined ? ["install", ...request.packages] : ["ci"];
}

export const npmInstaller: Installer = {
  argv: (request) => ["npm", ...words(request), "--prefix", folderOf(request), "--no-progress", "--no-color"],
  variables: {},
  follow: async (sandbox, request) => {
    const before = new Set((await installed(sandbox, request)).map(keyOf));
    return async () => (await installed(sandbox, request)).filter((one) => !before.has(keyOf(one)));
  },
};

function keyOf({ name, version, hash }: InstalledPackage): string {
  return JSON.stringify([name, version, hash]);
}

/** npm writes down what it has put into node_modules. */
function installed(sandbox: Workspace, request: InstallRequest): Promise<InstalledPackage[]> {
  return readNpmTree(sandbox, folderOf(request));
}

/** Packages of the node_modules in a folder. */
export async function readNpmTree(sandbox: Reader, folder: string): Promise<InstalledPackage[]> {
  const lock = await readReport(sandbox, posix.join(folder, "node_modules/.package-lock.json"));
  const rows = Object.entries((dig(lock, "packages") ?? {}) as object).slice(0, packageLimits.installed);
  const found = rows.map(([path, row]) =>
    asPackage(
      path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
      dig(row, "version"),
      dig(row, "integrity"),
    ),
  );
  const kept = found.filter((one) => one !== undefined);
  return [...new Map(kept.map((one) => [keyOf(one), one])).values()];
}
