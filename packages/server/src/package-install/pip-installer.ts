import { installPrograms } from "../core/image.ts";
import { type InstalledPackage, type InstallRequest, pipReport } from "../core/package.ts";
import type { Installer } from "./installer.ts";
import { packageLimits } from "./limits.ts";
import { asPackage, dig, type Reader, readReport } from "./read-report.ts";

function words({ packages, lockfile }: InstallRequest): string[] {
  return lockfile === undefined ? [...packages] : ["--require-hashes", "-r", lockfile];
}

export const pipInstaller: Installer = {
  argv: (request) => [`${installPrograms}/pip`, "install", ...words(request)],
  // Wheels are larger than a /tmp in memory should be.
  variables: {
    TMPDIR: "/workspace/.packages/tmp",
    PIP_BREAK_SYSTEM_PACKAGES: "1",
    PIP_PROGRESS_BAR: "off",
    PIP_NO_COLOR: "1",
  },
  follow: async (sandbox) => async () => {
    const packages = await readPipReport(sandbox, pipReport);
    await sandbox.files.remove(pipReport).catch(() => undefined); // the user may have been faster
    return packages;
  },
};

/** Packages of pip's installation report. */
export async function readPipReport(sandbox: Reader, path: string): Promise<InstalledPackage[]> {
  const rows = dig(await readReport(sandbox, path), "install");
  return (Array.isArray(rows) ? rows.slice(0, packageLimits.installed) : []).flatMap(toPackage);
}

/** A row of pip's installation report; older ones have one hash, as `sha256=…`. */
function toPackage(row: unknown): InstalledPackage[] {
  const archive = dig(row, "download_info", "archive_info");
  const sha256 = dig(archive, "hashes", "sha256");
  const hash = typeof sha256 === "string" ? `sha256:${sha256}` : String(dig(archive, "hash") ?? "").replace("=", ":");
  const found = asPackage(dig(row, "metadata", "name"), dig(row, "metadata", "version"), hash);
  return found === undefined ? [] : [found];
}
