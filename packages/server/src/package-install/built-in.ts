/** The registries that this machine's own pip and npm know by themselves: read from their files, and written nowhere here (NET-13). */
import { glob, open } from "node:fs/promises";
import type { PackageManager } from "../core/package.ts";
import { packageLimits } from "./limits.ts";
import type { MachineFiles } from "./machine-files.ts";

/** Where sandboxes have these programs from. */
const places: Record<PackageManager, readonly string[]> = {
  pip: ["/usr/local/lib/python3*/{dist,site}-packages", "/usr/lib{,64}/python3*/{dist,site}-packages"].map(
    (folder) => `${folder}/pip/_internal/models/index.py`,
  ),
  npm: [
    "/usr/local/lib/node_modules/npm/node_modules",
    "/usr/lib/node_modules/npm/node_modules",
    "/usr/share/nodejs",
  ].map((folder) => `${folder}/@npmcli/config/lib/definitions/definitions.js`),
};

const url = `(https?://[^'"\\s]+)`;
const patterns: Record<PackageManager, RegExp> = {
  pip: new RegExp(`^PyPI = PackageIndex\\(\\s*['"]${url}['"],\\s*file_storage_domain=['"]([^'"]+)['"]`, "m"),
  npm: new RegExp(`Definition\\('registry', \\{\\s*default: '${url}'`),
};

export async function builtIn(manager: PackageManager): ReturnType<MachineFiles["builtIn"]> {
  for await (const path of glob([...places[manager]])) {
    const [, found, files] = patterns[manager].exec((await readStart(path, packageLimits.programBytes)) ?? "") ?? [];
    if (found === undefined) continue;
    // pip joins the two itself.
    return manager === "pip" ? { url: new URL("simple", found).href, ...(files && { files }) } : { url: found };
  }
  return null;
}

/** Undefined where there is no such file that we may read. */
export async function readStart(path: string, bytes: number): Promise<string | undefined> {
  return (await readBytes(path, bytes))?.toString("utf8");
}

export async function readBytes(path: string, bytes: number): Promise<Buffer | undefined> {
  try {
    await using file = await open(path);
    if (!(await file.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } catch {
    return undefined;
  }
}
