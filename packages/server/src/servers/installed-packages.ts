/** Packages of a build: what the registries delivered, and what only the sandbox claims (S115). */
import type { DeliveredFile } from "../core/layer-builder.ts";
import type { InstalledPackage, PackageManager } from "../core/package.ts";
import type { ResolvedPackage } from "../core/server.ts";
import { serverBuildLimits } from "./build-limits.ts";

/** Undefined for a file whose address does not name a package and its version. */
export function deliveredPackage(manager: PackageManager, { url, sha256 }: DeliveredFile): ResolvedPackage | undefined {
  const path = pathOf(url);
  for (const pattern of manager === "pip" ? pipFiles : npmFiles) {
    const { name, version } = pattern.exec(path)?.groups ?? {};
    if (name === undefined || version === undefined) continue;
    return { manager, name: plain(manager, name), version, sha256, claimed: false };
  }
  return undefined;
}

/** Wheels and source archives, by their file names. */
const pipFiles = [
  /\/(?<name>[A-Za-z0-9._]+)-(?<version>[^-/]+)-[^/]+\.whl$/,
  /\/(?<name>[A-Za-z0-9._-]+)-(?<version>\d[^-/]*)\.(?:tar\.gz|zip)$/,
];
/** `/@scope/name/-/name-1.2.3.tgz`. */
const npmFiles = [/\/(?<name>(?:@[^/]+\/)?(?<last>[^/@]+))\/-\/\k<last>-(?<version>\d[^/]*)\.tgz$/];

function pathOf(url: string): string {
  try {
    return decodeURIComponent(new URL(url).pathname);
  } catch {
    return "";
  }
}

export function resolvedPackages(
  delivered: readonly ResolvedPackage[],
  claims: readonly (InstalledPackage & { manager: PackageManager })[],
): ResolvedPackage[] {
  const found = new Map(delivered.map((one) => [keyOf(one), one]));
  for (const { manager, name, version, hash } of claims) {
    const sha256 = hash?.startsWith("sha256:") ? hash.slice("sha256:".length) : null;
    const claim = { manager, name: plain(manager, name), version, sha256, claimed: true };
    if (!found.has(keyOf(claim))) found.set(keyOf(claim), claim);
  }
  const sorted = [...found.values()].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  return sorted.slice(0, serverBuildLimits.packages);
}

function keyOf({ manager, name, version }: Pick<ResolvedPackage, "manager" | "name" | "version">): string {
  return JSON.stringify([manager, name, version]);
}

/** PyPI's names are the same in any case and with any of these marks. */
function plain(manager: PackageManager, name: string): string {
  return manager === "pip" ? name.toLowerCase().replaceAll(/[-_.]+/g, "-") : name;
}
