import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { installPackage } from "../debian.ts";

const path = "/usr/bin/chromium";

/** Why there is no browser to test with, if there is none: Debian's is installed where root may. */
export function findNoBrowser(): string | undefined {
  if (existsSync(path)) return undefined;
  if (process.geteuid?.() !== 0) return "only root installs Debian's chromium";
  installPackage("chromium");
  return existsSync(path) ? undefined : "Debian's chromium cannot be installed here";
}

/** As root it has no sandbox of its own: the pages are the test's. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: path, args: ["--no-sandbox"], timeout: 60_000 });
