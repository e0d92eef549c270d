import { z } from "zod";
import { defined } from "../core/defined.ts";
import { type PackageRecord, packageManagers } from "../core/package.ts";
import { packageLimits } from "../core/package-limits.ts";
import type { Packages } from "../packages/packages.ts";
import { amount, toMs } from "../schemas/amount.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/sandboxes/{id}/packages";
const tag = "packages";

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
  .meta({ id: "InstallPackages" });

export const installOutcome = z
  .object({
    exit_code: z.number().int(),
    timed_out: z.boolean(),
    oom_killed: z.boolean(),
    duration_ms: z.number(),
    installed: z.array(installedPackage),
    output: z.string().describe("the end of what the package manager said"),
  })
  .meta({ id: "InstallOutcome" });

function show(record: PackageRecord): z.output<typeof packageRecord> {
  const { manager, name, version, hash, installedAtMs, installedBy } = record;
  return {
    manager,
    name,
    version,
    hash,
    installed_at: new Date(installedAtMs).toISOString(),
    installed_by: installedBy,
  };
}

/** Packages of pip and npm, from the registries of the daemon's machine (EXE-10). */
export function packageRoutes(packages: Packages): Route[] {
  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Installs packages of pip or npm from the registries that the daemon's machine is configured for",
      permission: "use",
      audit: "fleet",
      params: sandboxId,
      body: installBody,
      responses: {
        200: {
          description: "how it ended, whatever its exit code, and what is new",
          schema: installOutcome,
        },
      },
      handler: async ({ caller, params, body, signal }) => {
        const { manager, packages: named = [], lockfile, timeout_seconds } = body;
        const more = defined({ lockfile, timeoutMs: toMs(timeout_seconds) });
        const json = await packages.install(caller, params.id, { manager, packages: named, ...more, signal });
        return { status: 200, json };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists the packages that were installed by this API, by name",
      permission: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "all of them", schema: z.array(packageRecord) } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: (await packages.list(caller, params.id)).map(show),
      }),
    }),
  ];
}
