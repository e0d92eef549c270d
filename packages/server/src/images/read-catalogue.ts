import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CatalogueEntry } from "../core/image-spec.ts";
import { buildLimits } from "./limits.ts";
import { readSpec } from "./read-spec.ts";

/** In a checkout or installation. */
export function catalogueFolder(root: string): string {
  return join(root, "packages/server/catalogue");
}

/** The specifications that come with the program; one that is wrong is told of, and left out. */
export async function readCatalogue(folder: string, onError: (error: unknown) => void): Promise<CatalogueEntry[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".yaml")).sort();
  const found: CatalogueEntry[] = [];
  for (const name of names.slice(0, buildLimits.catalogue)) {
    try {
      const text = await readFile(join(folder, name), "utf8");
      found.push({ spec: await readSpec(text), text });
    } catch (error) {
      onError(error);
    }
  }
  return found;
}
