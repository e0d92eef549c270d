import { createHash } from "node:crypto";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { EngineParts } from "./parts.ts";
import type { LayersOfSandbox } from "./record.ts";

/** Of the machine's root: folders whose own time tells of a new program, and folders whose entries are looked at. */
const folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
const listed = ["/usr/lib", "/usr/local/lib"];
/** Of libraries, one for each architecture. */
const triplet = /^[a-z0-9_]+-linux-gnu[a-z0-9]*$/;

/**
 * Stands for the programs whose pages saved memory counts on: gVisor takes them from their files when it goes on, and does not
 * look whether those are what they were. A layer never changes; runtime, guest and the machine's own root may.
 */
export async function hostPrint(
  { runtimePath, guestPath }: Pick<EngineParts, "runtimePath" | "guestPath">,
  { root }: LayersOfSandbox,
): Promise<string> {
  const paths = [runtimePath, guestPath];
  if (root === null) paths.push(...folders, ...(await entriesOf(listed)));
  const hash = createHash("sha256");
  for (const line of await Promise.all(paths.map(describe))) hash.update(line);
  return hash.digest("hex");
}

async function entriesOf(places: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const place of places) {
    const names = (await readdir(place).catch(() => [])).sort();
    found.push(...names.map((name) => join(place, name)));
    const nested = names.filter((name) => triplet.test(name)).map((name) => join(place, name));
    for (const folder of nested) found.push(...(await readdir(folder)).sort().map((name) => join(folder, name)));
  }
  return found;
}

async function describe(path: string): Promise<string> {
  const info = await lstat(path, { bigint: true }).catch(() => undefined);
  return `${path} ${info?.ino} ${info?.size} ${info?.mtimeNs}\n`;
}
