import { existsSync } from "node:fs";
import { installPackage } from "../debian.ts";

const programs = ["/usr/lib/chromium/chromium-headless-shell", "/usr/bin/certutil"];
const isThere = () => programs.every((path) => existsSync(path));

/** Why the image `host` has no browser, if it has none: Debian's is installed where root may. */
export function findNoHeadlessShell(): string | undefined {
  if (isThere()) return undefined;
  if (process.geteuid?.() !== 0) return "only root installs Debian's chromium-headless-shell";
  installPackage("chromium-headless-shell", "libnss3-tools");
  return isThere() ? undefined : "Debian's chromium-headless-shell cannot be installed here";
}
