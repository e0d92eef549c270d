import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RootEntry } from "../core/image.ts";

const library = "/.caisson/compat.so";

/** What makes up for gVisor's differences, for every program that the C library loads (native/compat). */
export async function gvisorEntries(home: string, libraryPath: string): Promise<RootEntry[]> {
  const folder = join(home, "engine", "images");
  const list = join(folder, "ld.so.preload");
  await mkdir(folder, { recursive: true });
  await writeFile(`${list}.${process.pid}`, `${library}\n`);
  await rename(`${list}.${process.pid}`, list);
  return [
    { kind: "bind", path: library, source: libraryPath },
    { kind: "bind", path: "/etc/ld.so.preload", source: list },
  ];
}
