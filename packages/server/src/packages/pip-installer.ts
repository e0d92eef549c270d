import type { InstalledPackage, InstallRequest } from "../core/package.ts";
import { packageLimits } from "../core/package-limits.ts";
import type { Installer } from "./installer.ts";
import { asPackage, dig, readReport } from "./read-report.ts";

const reportPath = "/workspace/.packages/pip-report.json";

/**
 * Python looks for a user's packages in ~/.local, which here is a folder of the workspace: what is installed goes with
 * snapshots, and every run finds it. A ~/.local of the user's own stays what it is.
 */
const script = `mkdir -p /workspace/.packages "$TMPDIR" && rm -f ${reportPath} || exit 1
[ -e "$HOME/.local" ] || ln -s /workspace/.packages "$HOME/.local" || exit 1
exec python3 -m pip "$@"`;

function words({ packages, lockfile }: InstallRequest): string[] {
  return lockfile === undefined ? [...packages] : ["--require-hashes", "-r", lockfile];
}

export const pipInstaller: Installer = {
  command: (request) => ["pip", "install", ...words(request)],
  run: (request) => {
    const options = ["--user", "--no-input", "--disable-pip-version-check", "--no-warn-script-location"];
    return {
      command: ["/bin/sh", "-c", script, "pip", "install", ...options, "--report", reportPath, ...words(request)],
      // Wheels are larger than a /tmp in memory should be.
      env: {
        TMPDIR: "/workspace/.packages/tmp",
        PIP_BREAK_SYSTEM_PACKAGES: "1",
        PIP_PROGRESS_BAR: "off",
        PIP_NO_COLOR: "1",
      },
    };
  },
  follow: async (sandbox) => async () => {
    const report = await readReport(sandbox, reportPath);
    await sandbox.files.remove(reportPath).catch(() => undefined); // the user may have been faster
    const rows = dig(report, "install");
    return (Array.isArray(rows) ? rows.slice(0, packageLimits.installed) : []).flatMap(toPackage);
  },
};

/** A row of pip's installation report; older ones have one hash, as `sha256=…`. */
function toPackage(row: unknown): InstalledPackage[] {
  const archive = dig(row, "download_info", "archive_info");
  const sha256 = dig(archive, "hashes", "sha256");
  const hash = typeof sha256 === "string" ? `sha256:${sha256}` : String(dig(archive, "hash") ?? "").replace("=", ":");
  const found = asPackage(dig(row, "metadata", "name"), dig(row, "metadata", "version"), hash);
  return found === undefined ? [] : [found];
}
