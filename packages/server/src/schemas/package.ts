import { z } from "zod";
import { lockfiles, type PackageManager, packageManagers, packageNames } from "../core/package.ts";
import { packageLimits } from "../package-install/limits.ts";
import { seconds } from "./amount.ts";
import { exactlyOne } from "./exactly-one.ts";

const fields = {
  name: z.string(),
  version: z.string(),
  hash: z.string().nullable().describe("hash of the download, as the package manager reports it"),
};

const installedPackage = z.object(fields).meta({ id: "InstalledPackage" });

export const packageRecord = z
  .object({
    manager: z.enum(packageManagers),
    ...fields,
    installed_at: z.iso.datetime(),
    installed_by: z.string(),
  })
  .meta({ id: "PackageRecord" });

/** Fields of a request, for callers that may leave the manager out. */
export const installFields = {
  packages: z
    .array(z.string().min(1).max(packageLimits.specCharacters))
    .min(1)
    .max(packageLimits.packages)
    .optional()
    .describe("names, with or without versions: name==1.2.3 for pip, name@1.2.3 for npm"),
  lockfile: z
    .string()
    .min(1)
    .max(packageLimits.lockfileCharacters)
    .optional()
    .describe("path in the workspace, in place of packages: requirements with hashes (pip) or package-lock.json (npm)"),
  timeout_seconds: seconds(packageLimits.timeoutMs).optional(),
};

function installBodyOf(manager: PackageManager) {
  const { packages, lockfile, timeout_seconds } = installFields;
  const name = z.string().max(packageLimits.specCharacters);
  return exactlyOne(
    z.strictObject({
      manager: z.literal(manager),
      packages: z
        .array(name.regex(packageNames[manager], `no package of ${manager}: a name, or a name with its version`))
        .min(1)
        .max(packageLimits.packages)
        .optional()
        .describe(packages.description ?? ""),
      lockfile: lockfile.unwrap().regex(lockfiles[manager], `no lockfile of ${manager} in the workspace`).optional(),
      timeout_seconds,
    }),
    ["packages", "lockfile"],
  );
}

export const installBody = z
  .discriminatedUnion("manager", [installBodyOf("pip"), installBodyOf("npm")])
  .meta({ id: "InstallPackages", examples: [{ manager: "pip", packages: ["requests"] }] });

export const installOutcome = z
  .object({
    installed: z.array(installedPackage),
    output: z.string().describe("last part of the package manager's output"),
    exit_code: z.number().int(),
    timed_out: z.boolean(),
    oom_killed: z.boolean(),
    duration_ms: z.number(),
  })
  .meta({ id: "InstallOutcome" });
