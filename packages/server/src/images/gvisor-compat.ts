import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RootEntry } from "../core/image.ts";

const library = "/.caisson/compat.so";

/** What makes up for gVisor's differences, for every program that the C library loads (native/compat). */
export async function gvisorEntries(home: string, libraryPath: string): Promise<RootEntry[]> {
  const folder = join(home, "engine", "images");
  const list = join(folder, "ld.so.preload");
  await mkdir(folder, { recursive: true });
  const draft = `${list}.${randomUUID()}`; // two at once, in one process or in two, are in nobody's way
  await writeFile(draft, `${library}\n`);
  await rename(draft, list);
  return [
    { kind: "bind", path: library, source: libraryPath },
    { kind: "bind", path: "/etc/ld.so.preload", source: list },
  ];
}
