import { AppError } from "../core/errors.ts";
import { type InstallRequest, type PackageManager, packageNames, pinnedPackages } from "../core/package.ts";
import { checkRange, showSeconds } from "../core/size.ts";
import { packageLimits } from "./limits.ts";

const examples: Record<PackageManager, string> = { pip: "name==1.2.3", npm: "name@1.2.3" };

/** Refuses what is no name of a package, and what is not pinned where policy says that it must be. */
export function checkRequest(request: InstallRequest, mustPin: boolean): void {
  const { manager, packages, lockfile } = request;
  if (request.timeoutMs !== undefined) checkRange(request.timeoutMs, packageLimits.timeoutMs, "timeout", showSeconds);
  if (lockfile !== undefined) return checkLockfile(manager, packages, lockfile);
  if (packages.length === 0) throw new AppError("invalid", "name a package to install, or a lockfile");
  if (packages.length > packageLimits.packages)
    throw new AppError("invalid", `one call installs at most ${packageLimits.packages} packages`);
  for (const text of packages) {
    if (text.length > packageLimits.specCharacters || !packageNames[manager].test(text))
      throw new AppError("invalid", `${JSON.stringify(text.slice(0, 80))} is no package of ${manager}`, {
        hint: `Name it as ${examples[manager]}, or without a version. Paths and URLs are not installed.`,
      });
    if (mustPin && !pinnedPackages[manager].test(text))
      throw new AppError("forbidden", `policy takes packages with their version, and '${text}' has none`, {
        hint: `Say ${examples[manager]}, or install by a lockfile.`,
        details: { policy: "packages" },
      });
  }
}

function checkLockfile(manager: PackageManager, packages: readonly string[], path: string): void {
  if (packages.length > 0) throw new AppError("invalid", "a lockfile says what is installed: name no packages with it");
  if (path.length > packageLimits.lockfileCharacters || /[\0\n]/.test(path) || path.split("/").includes(".."))
    throw new AppError("invalid", "the lockfile is no path in the workspace");
  if (manager === "npm" && !/(^|\/)(package-lock|npm-shrinkwrap)\.json$/.test(path))
    throw new AppError("invalid", "npm's lockfile is a package-lock.json", {
      hint: "Name it, beside its package.json.",
    });
}
