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
  if (packages.length === 0) throw new AppError("invalid", "missing packages or lockfile");
  if (packages.length > packageLimits.packages)
    throw new AppError("invalid", `too many packages (limit: ${packageLimits.packages} per call)`);
  for (const text of packages) {
    if (text.length > packageLimits.specCharacters || !packageNames[manager].test(text))
      throw new AppError("invalid", `${JSON.stringify(text.slice(0, 80))} is not a ${manager} package`, {
        hint: `write a name, such as ${examples[manager]}, with or without a version; paths and URLs are not supported`,
      });
    if (mustPin && !pinnedPackages[manager].test(text))
      throw new AppError("forbidden", `policy requires a version, and '${text}' has none`, {
        hint: `write ${examples[manager]}, or install from a lockfile`,
        details: { policy: "packages" },
      });
  }
}

function checkLockfile(manager: PackageManager, packages: readonly string[], path: string): void {
  if (packages.length > 0) throw new AppError("invalid", "packages and lockfile exclude each other");
  if (path.length > packageLimits.lockfileCharacters || /[\0\n]/.test(path) || path.split("/").includes(".."))
    throw new AppError("invalid", "the lockfile is not a path in the workspace");
  if (manager === "npm" && !/(^|\/)(package-lock|npm-shrinkwrap)\.json$/.test(path))
    throw new AppError("invalid", "not a package-lock.json, which npm requires", {
      hint: "name the package-lock.json that is beside the package.json",
    });
}
