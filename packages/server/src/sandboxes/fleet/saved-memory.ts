import type { CheckpointRecords } from "../../core/checkpoint.ts";
import { Once } from "../../lib/once.ts";
import { CheckpointFolder } from "./checkpoint-folder.ts";
import type { FleetParts } from "./fleet-parts.ts";
import { KeptSeeds, savesMemory, sweepSeeds } from "./kept-seeds.ts";
import { checkpointKeys, type Keys } from "./keys.ts";
import type { SandboxMaker } from "./maker.ts";

/** Records, folders and keys of the memory that the engine has saved, of checkpoints and of templates. */
export interface SavedMemory {
  records: CheckpointRecords;
  folder: CheckpointFolder;
  keys: Keys;
  seeds: KeptSeeds;
  /** Removes, once, what a killed daemon left unfinished; called before anything is saved. */
  swept: () => Promise<void>;
}

type Copies = SandboxMaker["copies"];

export function openSavedMemory(
  copies: Copies,
  { folder: path, records, seeds: seedsFolder }: FleetParts["checkpoints"],
  keys: Keys,
): SavedMemory {
  const folder = new CheckpointFolder(path);
  const once = new Once<void>();
  const swept = () => once.get(() => sweep(copies, { folder, records, keys, seedsFolder }));
  return { records, folder, keys, seeds: new KeptSeeds({ copies, keys, folder: seedsFolder, swept }), swept };
}

/** Removes unfinished memory from the folders, the engine and the vault. */
async function sweep(
  copies: Pick<Copies, "kept" | "remove">,
  { folder, records, keys, seedsFolder }: Pick<SavedMemory, "folder" | "records" | "keys"> & { seedsFolder: string },
): Promise<void> {
  const known = await records.names();
  const seeds = await sweepSeeds({ keys, folder: seedsFolder });
  const ids = new Set([...known.map(({ id }) => id), ...(seeds ?? [])]);
  if (!(await folder.sweep(ids)) && seeds === undefined) return;
  for (const id of await copies.kept(savesMemory)) if (!ids.has(id)) await copies.remove(savesMemory, id);
  const names = new Set(known.map(({ keyName }) => keyName));
  for (const name of await keys.keyNames())
    if (name.startsWith(checkpointKeys) && !names.has(name)) await keys.dropKey(name);
}
