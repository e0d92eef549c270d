import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import type { EngineParts } from "./parts.ts";
import { removeIfStale, withLock } from "./reap.ts";
import { isLayers, type LayersOfSandbox } from "./record.ts";

type HoldParts = Pick<EngineParts, "engineFolder" | "helper" | "onError">;

const fileName = "layers.json";
const pattern = /^[a-z2-7]{16}$/;
const holdsFolder = (engineFolder: string) => join(engineFolder, "holds");
const holdFolder = (engineFolder: string, id: string) => join(holdsFolder(engineFolder), id);

/**
 * Names the layers that saved memory rests on, where every engine of the data folder sees them: in a folder whose lock is held
 * as long as the memory is. Like a sandbox, it names them first, and looks for them then (removeLayer).
 */
export async function holdLayers({ engineFolder, helper }: HoldParts, id: string, layers: LayersOfSandbox) {
  const folder = holdFolder(engineFolder, id);
  await mkdir(holdsFolder(engineFolder), { recursive: true, mode: 0o700 });
  await helper.request("claim", [["folder", folder]]);
  const draft = join(folder, `.${fileName}`);
  await writeFile(draft, JSON.stringify(layers), { mode: 0o600 });
  await rename(draft, join(folder, fileName));
}

export async function releaseLayers({ engineFolder, helper }: HoldParts, id: string): Promise<void> {
  const folder = holdFolder(engineFolder, id);
  await rm(folder, { recursive: true, force: true });
  await helper.request("unlock", [["folder", folder]]);
}

export async function listHolds(engineFolder: string): Promise<string[]> {
  return (await namesIn(engineFolder)).filter((name) => pattern.test(name));
}

/** What saved memory of all engines rests on. */
export async function heldLayers(
  engineFolder: string,
  onUnreadable: (error: unknown) => undefined,
): Promise<LayersOfSandbox[]> {
  const ids = await listHolds(engineFolder);
  const found = await Promise.all(ids.map((id) => readHold(engineFolder, id).catch(onUnreadable)));
  return found.filter((layers) => layers !== undefined);
}

async function readHold(engineFolder: string, id: string): Promise<LayersOfSandbox | undefined> {
  try {
    const layers: unknown = JSON.parse(await readFile(join(holdFolder(engineFolder, id), fileName), "utf8"));
    if (isLayers(layers)) return layers;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined; // it names none yet, or was released meanwhile
    if (errnoOf(error) !== undefined) throw error;
  }
  throw new AppError("internal", `the list of layers that the saved memory ${id} needs is damaged`);
}

/** Of engines that are gone. */
export async function reapHolds(parts: HoldParts): Promise<void> {
  for (const name of await namesIn(parts.engineFolder)) {
    const folder = join(holdsFolder(parts.engineFolder), name);
    if (pattern.test(name))
      await withLock(parts.helper, folder, () => rm(folder, { recursive: true, force: true })).catch(parts.onError);
    else await removeIfStale(folder);
  }
}

async function namesIn(engineFolder: string): Promise<string[]> {
  return readdir(holdsFolder(engineFolder)).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
}
