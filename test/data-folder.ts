import { randomUUID } from "node:crypto";
import { copyFile, cp, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeEngineFolders } from "../packages/server/src/engines/oci/sandbox-folder.ts";
import { findLeaks } from "./leaks.ts";

/** That the engines of this checkout work, in the product's own words, which say of what runtime and start of the machine. */
const known = join(import.meta.dirname, "../.build/test-probes");
/** What an ordinary user may do changes from test to test. */
const recalls = process.geteuid?.() === 0;

/** As it is after its first start: whether an engine works is known, and no test but that of the probe waits for one. */
export async function makeDataFolder(prefix: string): Promise<string> {
  const home = await mkdtemp(prefix);
  if (recalls && (await list(known)).length > 0)
    await cp(known, join(await makeEngineFolders(home), "probes"), { recursive: true });
  return home;
}

/** Checks that no process, mount, cgroup or sandbox was left behind (SBX-17). */
export async function removeDataFolder(home: string): Promise<void> {
  const leaks = findLeaks(home);
  if (recalls) await rememberProbes(join(home, "engine/probes"));
  await rm(home, { recursive: true, force: true });
  if (leaks.length > 0) throw new Error(`left behind:\n  ${leaks.join("\n  ")}`);
}

async function rememberProbes(folder: string): Promise<void> {
  for (const name of await list(folder)) {
    await mkdir(known, { recursive: true });
    const draft = `${known}.${randomUUID()}`;
    await copyFile(join(folder, name), draft);
    await rename(draft, join(known, name));
  }
}

async function list(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
}
