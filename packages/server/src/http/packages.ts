import { z } from "zod";
import type { PackageRecord } from "../core/package.ts";
import { defined } from "../lib/defined.ts";
import type { Packages } from "../package-install/packages.ts";
import { toMs } from "../schemas/amount.ts";
import { installBody, installOutcome, packageRecord } from "../schemas/package.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/sandboxes/{id}/packages";
const tag = "packages";

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
      summary: "Installs pip or npm packages, from the registries configured on the daemon's machine",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: installBody,
      responses: {
        200: {
          description: "the result, with any exit code, and the new packages",
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
      summary: "Lists the packages that were installed through this API, by name",
      scope: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "all packages", schema: z.array(packageRecord) } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: (await packages.list(caller, params.id)).map(show),
      }),
    }),
  ];
}
