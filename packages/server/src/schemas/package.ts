import { z } from "zod";
import { packageManagers } from "../core/package.ts";
import { packageLimits } from "../core/package-limits.ts";
import { amount } from "./amount.ts";

const fields = {
  name: z.string(),
  version: z.string(),
  hash: z.string().nullable().describe("of what was downloaded, as the package manager tells it"),
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

export const installBody = z
  .strictObject({
    manager: z.enum(packageManagers),
    packages: z
      .array(z.string().min(1).max(packageLimits.specCharacters))
      .max(packageLimits.packages)
      .optional()
      .describe("names, with or without versions: name==1.2.3 for pip, name@1.2.3 for npm"),
    lockfile: z
      .string()
      .min(1)
      .max(packageLimits.lockfileCharacters)
      .optional()
      .describe("in the workspace, in place of packages: requirements with hashes for pip, package-lock.json for npm"),
    timeout_seconds: amount.optional(),
  })
  .meta({ id: "InstallPackages", examples: [{ manager: "pip", packages: ["requests"] }] });

export const installOutcome = z
  .object({
    installed: z.array(installedPackage),
    output: z.string().describe("the end of what the package manager said"),
    exit_code: z.number().int(),
    timed_out: z.boolean(),
    oom_killed: z.boolean(),
    duration_ms: z.number(),
  })
  .meta({ id: "InstallOutcome" });
