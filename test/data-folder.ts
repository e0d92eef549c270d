import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeEngineFolders } from "../packages/server/src/engines/oci/sandbox-folder.ts";
import { findLeaks } from "./leaks.ts";

/** What a first start finds out and makes: which engines work, by a sandbox of each, and what sandboxes have for /etc. */
const parts = ["images", "probes"] as const;
/** Of this run, as the product left it in the first data folders; its own names say what it stands for. */
const known = join(import.meta.dirname, "../.build/test-data");
/** What an ordinary user may do changes from test to test. */
const recalls = process.geteuid?.() === 0;

/** A new one as it is after its first start: hundreds of tests begin with one. Nobody writes to what is linked here. */
export async function makeDataFolder(prefix: string): Promise<string> {
  const home = await mkdtemp(prefix);
  if (!recalls) return home;
  const engine = await makeEngineFolders(home);
  try {
    for (const part of parts) await copyNewest(join(known, part), join(engine, part));
  } catch {
    // Another run of this checkout has begun, and forgotten it: the product makes its own.
    for (const part of parts) await rm(join(engine, part), { recursive: true, force: true });
  }
  return home;
}

/** Checks that nothing of a sandbox was left behind (SBX-17). */
export async function removeDataFolder(home: string): Promise<void> {
  const leaks = findLeaks(home);
  // Another run of this checkout may begin meanwhile, and forget all of it.
  if (recalls)
    for (const part of parts) await remember(join(home, "engine", part), join(known, part)).catch(() => undefined);
  await rm(home, { recursive: true, force: true });
  if (leaks.length > 0) throw new Error(`left behind:\n  ${leaks.join("\n  ")}`);
}

/** Nothing of a former run, whose sources may have been others. */
export async function setup(): Promise<void> {
  await rm(known, { recursive: true, force: true });
}

/** Of each kind the last one: an installed package makes another /etc. */
async function copyNewest(from: string, to: string): Promise<void> {
  const newest = new Map<string, { path: string; atMs: number }>();
  for (const name of await list(from)) {
    const path = join(from, name);
    const kind = name.replace(/-.*/, "");
    const { mtimeMs: atMs } = await stat(path);
    if (atMs >= (newest.get(kind)?.atMs ?? 0)) newest.set(kind, { path, atMs });
  }
  if (newest.size === 0) return;
  await mkdir(to, { mode: 0o755 });
  const paths = [...newest.values()].map(({ path }) => path);
  await copy("--link", ...paths, to).catch(() => copy(...paths, to)); // no links where it is another file system
}

async function remember(from: string, to: string): Promise<void> {
  const there = new Set(await list(to));
  for (const name of (await list(from)).filter((name) => !there.has(name))) {
    await mkdir(to, { recursive: true });
    const draft = join(to, `.${randomUUID()}`);
    await copy(join(from, name), draft);
    await rename(draft, join(to, name)).catch(() => rm(draft, { recursive: true })); // another was first
  }
}

async function list(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith("."));
}

async function copy(...words: string[]): Promise<void> {
  await promisify(execFile)("/usr/bin/cp", ["--archive", ...words]);
}
