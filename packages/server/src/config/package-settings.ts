import { packageLimits } from "../package-install/limits.ts";

/** Settings of package installation. The registries are in the configuration of pip and npm. */
export const packageSettings = {
  "packages.pinned": {
    type: "boolean",
    default: false,
    env: "CAISSON_PACKAGES_PINNED",
    help: "install only lockfiles and packages with a version",
  },
  "packages.hosts": {
    type: "list",
    default: [],
    env: "CAISSON_PACKAGES_HOSTS",
    help: "additional hosts that serve package files for this machine's registries: files.example.com, cdn.example.com:8443",
  },
  "packages.keep_mb": {
    type: "number",
    range: packageLimits.keptMb,
    whole: true,
    env: "CAISSON_PACKAGES_KEEP_MB",
    help: "size of the cache of downloaded packages, in MB; 0 disables it",
  },
} as const;
