import { spawnSync } from "node:child_process";

const lock = "/run/caisson-test-apt";

/** Installs Debian packages that only tests need; `./caisson` brings what the product needs. */
export function installPackage(...names: string[]): void {
  // One test file at a time: an update that finds another under way fails at once.
  const apt = (...args: string[]) =>
    spawnSync("flock", [lock, "apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "ignore", "inherit"],
      timeout: 300_000,
    });
  apt("update");
  apt("install", "-y", "--no-install-recommends", ...names);
}
