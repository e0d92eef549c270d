import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { promisify } from "node:util";

/** Whether this machine's own program gets a package from its registry; if not, no sandbox can. */
async function canGet(command: string, args: string[]): Promise<boolean> {
  const folder = await mkdtemp("/var/tmp/caisson-test-");
  try {
    await promisify(execFile)(command, args, { cwd: folder, timeout: 60_000 });
    return true;
  } catch {
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of each manager. */
export async function reachableRegistries(): Promise<{ pip: boolean; npm: boolean }> {
  const [pip, npm] = await Promise.all([
    canGet("/usr/bin/python3", ["-m", "pip", "download", "--no-deps", "-q", "markupsafe"]),
    canGet("/usr/bin/npm", ["pack", "--silent", "is-number@7.0.0"]),
  ]);
  return { pip, npm };
}

export const whyLeftOut = " (left out: the registry that this machine is configured for cannot be reached)";
