import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { promisify } from "node:util";

/** A registry that needs longer than this for one small package would only show how late the tests' own time-outs are. */
const answersWithinMs = 20_000;

/** Whether this machine's own program gets a package from its registry, not from a cache; if not, no sandbox can. */
async function canGet(command: string, args: string[]): Promise<boolean> {
  const folder = await mkdtemp("/var/tmp/caisson-test-");
  try {
    await promisify(execFile)(command, args, { cwd: folder, timeout: answersWithinMs });
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
    canGet("/usr/bin/python3", ["-m", "pip", "download", "--no-deps", "--no-cache-dir", "-q", "markupsafe"]),
    canGet("/usr/bin/npm", ["pack", "--silent", "--cache=.", "is-number@7.0.0"]),
  ]);
  return { pip, npm };
}

export const whyLeftOut = " (left out: the registry that this machine is configured for does not answer, or too late)";
