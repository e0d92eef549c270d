import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import type { KeySource } from "../../packages/server/src/vault/key-ring.ts";
import { StoredVault, type VaultParts } from "../../packages/server/src/vault/vault.ts";
import { journalOf } from "../journal.ts";

export function callerOf(namespace = "default", role: Role = "operator"): Caller {
  return { principal: { id: `key-${namespace}`, name: namespace, namespace, role }, requestId: "request" };
}

export interface TestVault extends AsyncDisposable {
  vault: StoredVault;
  store: Store;
  events: JournalEvent[];
}

export interface VaultHome extends AsyncDisposable {
  folder: string;
  keyFile: string;
  clock: { nowMs: number };
  open(changed?: Partial<VaultParts>): Promise<TestVault>;
}

/** A folder for one daemon's vault after the other, with a real store. */
export async function makeVaultHome(): Promise<VaultHome> {
  const folder = await mkdtemp("/var/tmp/caisson-vault-");
  const keyFile = join(folder, "vault-key");
  const clock = { nowMs: Date.now() };
  const open = async (changed: Partial<VaultParts> = {}): Promise<TestVault> => {
    const store = await openStore({ path: join(folder, "caisson.db") });
    const events: JournalEvent[] = [];
    const journal = await journalOf(store, (event) => events.push(event));
    const keys: KeySource = { file: keyFile };
    try {
      const vault = await StoredVault.open({
        records: store.secrets,
        keys,
        environment: new Map(),
        writable: true,
        journal,
        clock: { wallMs: () => clock.nowMs },
        onError: (error) => {
          throw error;
        },
        ...changed,
      });
      return {
        vault,
        store,
        events,
        [Symbol.asyncDispose]: async () => {
          vault[Symbol.dispose]();
          await store[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      await store[Symbol.asyncDispose]();
      throw error;
    }
  };
  return { folder, keyFile, clock, open, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** The files below a folder that hold those bytes, in any of the forms in which they could lie there. */
export async function filesWith(folder: string, value: Buffer): Promise<string[]> {
  const forms = [value, ...(["base64", "base64url", "hex"] as const).map((form) => Buffer.from(value.toString(form)))];
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (forms.some((form) => bytes.includes(form))) found.push(path);
  }
  return found;
}
