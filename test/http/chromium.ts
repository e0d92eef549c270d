import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const path = "/usr/bin/chromium";

function install(): void {
  const apt = (...args: string[]) =>
    spawnSync("apt-get", ["-q", "-o", "DPkg::Lock::Timeout=120", ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "ignore", "inherit"],
      timeout: 300_000,
    });
  apt("update");
  apt("install", "-y", "--no-install-recommends", "chromium");
}

/** Why there is no browser to test with, if there is none: Debian's is installed where root may. */
export function findNoBrowser(): string | undefined {
  if (existsSync(path)) return undefined;
  if (process.geteuid?.() !== 0) return "only root installs Debian's chromium";
  install();
  return existsSync(path) ? undefined : "Debian's chromium cannot be installed here";
}

/** As root it has no sandbox of its own: the pages are the test's. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: path, args: ["--no-sandbox"], timeout: 60_000 });
