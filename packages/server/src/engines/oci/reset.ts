import type { Live } from "./live.ts";
import type { EngineParts } from "./parts.ts";
import { stopBoundary } from "./stop.ts";
import { keepUidRange, lostUidRange } from "./uid-range.ts";

/** Stops a sandbox and empties its workspace, after all that its next start needs was asked for (S93). */
export async function resetBoundary(parts: EngineParts, live: Live): Promise<void> {
  await checkAnew(parts, live);
  await stopBoundary(parts, live, true);
}

async function checkAnew({ disk, layers, privilege }: EngineParts, live: Live): Promise<void> {
  const { record, folder } = live;
  if (record?.kept == null) return;
  if (live.settled === undefined && !(await keepUidRange(privilege.pool, record.base, folder)))
    throw lostUidRange(live.id);
  for (const layer of [record.layers.root, record.layers.origin]) if (layer !== null) await layers.chain(layer);
  if (privilege.rootless || (await disk.unavailable()) !== null) return;
  const { storageBytes } = record.kept.limits;
  await disk.template(storageBytes);
  await disk.reserveAnew(folder, storageBytes);
}
