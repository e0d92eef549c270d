/** First of all: what a service keeps. */
import { join } from "node:path";
import type { Redactor } from "../core/redaction.ts";
import { redactorsOf } from "../dlp/redactors.ts";
import { StoredJournal } from "../journal/stored-journal.ts";
import { defined } from "../lib/defined.ts";
import { openStorage, type Storage } from "../sandboxes/open-storage.ts";
import { FileBlobs } from "../store/blobs.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { storePath } from "../store/store-path.ts";
import { openVault } from "../vault/open-vault.ts";
import type { StoredVault } from "../vault/vault.ts";
import type { ServiceParts } from "./service-parts.ts";

export interface Stores {
  /** The database. */
  store: Store;
  /** Writes to it what happens, together with what that changes. */
  journal: StoredJournal;
  vault: StoredVault;
  /** Masks the secrets of a namespace. */
  redactors: (namespace: string) => Promise<readonly Redactor[]>;
  blobs: FileBlobs;
  /** Snapshots, skills and artifacts. */
  storage: Storage;
}

type Parts = Pick<ServiceParts, "folder" | "opening" | "vault" | "auditBytes" | "clock" | "onEvent" | "onError">;

export async function openStores(
  opened: AsyncDisposableStack,
  { folder, opening, vault: options, auditBytes: namespaceBytes, clock, onEvent, onError }: Parts,
): Promise<Stores> {
  const store = opened.use(await openStore({ path: storePath(folder), ...opening, onError }));
  const { audit, secrets, snapshots, skills, artifacts } = store;
  const batch = () => store.batch();
  const journal = opened.use(
    await StoredJournal.open({ audit, batch, clock, onError, ...defined({ onEvent, namespaceBytes }) }),
  );
  // Before anything else: with another master key nothing of the last daemon's is touched.
  const vault = opened.use(await openVault({ folder, records: secrets, journal, clock, onError }, options));
  const redactors = async (namespace: string) => redactorsOf(await vault.values(namespace));
  const blobs = await FileBlobs.open(join(folder, "blobs"));
  const storage = openStorage({ blobs, snapshots, skills, artifacts, journal, clock, onError });
  opened.defer(() => storage.sweeper.settled());
  return { store, journal, vault, redactors, blobs, storage };
}
