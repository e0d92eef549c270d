/** The fleet, over a Caisson that makes its sandboxes, and what follows them. */
import { join } from "node:path";
import type { Caisson } from "../app.ts";
import { followSandboxes } from "../approvals/follow-sandboxes.ts";
import type { FleetSettings } from "../core/fleet.ts";
import type { LayerId } from "../core/layer.ts";
import { usualStorageBytes } from "../engines/usual-storage.ts";
import { recordInside } from "../journal/record-inside.ts";
import type { Restore } from "../sandboxes/fleet/creation.ts";
import { SandboxFleet } from "../sandboxes/fleet/fleet.ts";
import { RunBook } from "../sandboxes/fleet/run-book.ts";
import { RunReports } from "../sandboxes/run-reports.ts";
import { SharedPorts } from "../sandboxes/shared-ports.ts";
import { keptArtifactLimits } from "../sandboxes/snapshot-limits.ts";
import { diskRoom } from "../store/disk-room.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Egress } from "./egress.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Stores } from "./store.ts";

export interface Sandboxes {
  caisson: Caisson;
  fleet: SandboxFleet;
  /** Finds everything about one run. */
  reports: RunReports;
  ports: SharedPorts;
}

type Below = Pick<Stores, "store" | "journal" | "vault" | "storage"> &
  Pick<Egress, "inForce" | "policies" | "approvals" | "guard"> &
  Pick<Catalogue, "images" | "requestable" | "templates" | "serverBook">;
type Parts = Pick<
  ServiceParts,
  "folder" | "records" | "openCaisson" | "maker" | "settings" | "restore" | "clock" | "onError"
>;

export async function openSandboxes(
  opened: AsyncDisposableStack,
  {
    store,
    journal,
    vault,
    storage,
    inForce,
    policies,
    approvals,
    guard,
    images,
    requestable,
    templates,
    serverBook,
  }: Below,
  { folder, records: retention, clock, onError, ...parts }: Parts,
): Promise<Sandboxes> {
  const { sandboxes, runs: records, checkpoints, ports: sharedPorts } = store;
  const runs = opened.use(new RunBook({ journal, records, sandboxes, retention, clock, onError }));
  const imageOf = (root: LayerId) => images.ofLayer(serverBook.imageOf(root)?.layerId ?? root);
  const caisson = parts.openCaisson({
    policies: inForce,
    oversight: { ...guard, keeper: runs, imageOf },
  });
  const restore: Restore = async (caller, sandbox, id) => void (await storage.snapshots.restore(caller, sandbox, id));
  const fleet = opened.use(
    await SandboxFleet.open({
      maker: parts.maker ?? caisson,
      records: sandboxes,
      ...{ journal, clock, approvals, runs, templates, onError },
      settings: await withStorage(parts.settings, folder),
      restore: parts.restore ?? restore,
      checkpoints: { folder: join(folder, "checkpoints"), records: checkpoints, seeds: join(folder, "seeds") },
      lendFiles: (caller, sandbox, use) => storage.snapshots.lend(caller, sandbox, use),
      secrets: vault,
      keep: (record, sandbox) => storage.artifacts.keep(record, sandbox),
      egress: policies,
      images: requestable,
    }),
  );
  const namespaceOf = (id: string) => fleet.namespaceOf(id);
  const ports = opened.use(await SharedPorts.open({ records: sharedPorts, journal, fleet, onError }));
  await policies.sweep();
  await vault.watch(({ namespace }) => fleet.refreshSecrets(namespace));
  recordInside({ events: caisson.events, namespaceOf, journal, onError });
  opened.use(followSandboxes(journal, approvals, (id) => namespaceOf(id) !== undefined));
  const expire = () => void storage.artifacts.expire().catch(onError);
  const expiring = setInterval(expire, keptArtifactLimits.expireEveryMs).unref();
  opened.defer(() => clearInterval(expiring));
  const reports = new RunReports({ fleet, audit: store.audit, runs: records, approvals, attempts: store.attempts });
  return { caisson, fleet, reports, ports };
}

/** Default storage of a sandbox, from the size of the disk. Computed once: all pools have one size. */
async function withStorage(settings: FleetSettings, folder: string): Promise<FleetSettings> {
  const { limits } = settings;
  if (limits.storageBytes !== undefined) return settings;
  const { freeBytes } = await diskRoom(folder);
  return { ...settings, limits: { ...limits, storageBytes: usualStorageBytes(freeBytes) } };
}
