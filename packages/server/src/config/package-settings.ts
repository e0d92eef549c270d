import { packageLimits } from "../core/package-limits.ts";

/** Settings of what sandboxes install. Where it comes from is in the configuration of pip and npm. */
export const packageSettings = {
  "packages.pinned": {
    type: "boolean",
    default: false,
    env: "CAISSON_PACKAGES_PINNED",
    help: "whether a daemon installs only packages with their version, and lockfiles",
  },
  "packages.hosts": {
    type: "list",
    default: [],
    env: "CAISSON_PACKAGES_HOSTS",
    help: "hosts that files of this machine's registries come from beside the registries themselves: files.example.com, cdn.example.com:8443",
  },
  "packages.keep_mb": {
    type: "number",
    range: packageLimits.keptMb,
    whole: true,
    env: "CAISSON_PACKAGES_KEEP_MB",
    help: "how much of what sandboxes download from this machine's registries is kept for the next one; 0 for nothing",
  },
} as const;
