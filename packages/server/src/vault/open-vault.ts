import { join } from "node:path";
import type { Recorder } from "../core/journal.ts";
import type { SecretRecords } from "../core/secret-record.ts";
import type { Clock } from "../lib/clock.ts";
import { environmentSecrets } from "./environment-secrets.ts";
import { StoredVault } from "./vault.ts";

/** What a daemon is told of its vault. */
export interface VaultOptions {
  /** Whether secrets may be put; else there are those of the environment alone. */
  writable: boolean;
  /** Master keys, when they do not lie in the daemon's folder. */
  keys: { keys: string; place: string } | null;
  /** `CAISSON_SECRET_…` */
  variables: Readonly<Record<string, string>>;
}

export interface OpenVaultParts {
  folder: string;
  records: SecretRecords;
  journal: Recorder;
  clock: Pick<Clock, "wallMs">;
  onError: (error: unknown) => void;
}

/** The vault of a daemon's folder; its master key is made at the first start. */
export function openVault({ folder, ...parts }: OpenVaultParts, options?: VaultOptions): Promise<StoredVault> {
  const { writable, keys, variables } = options ?? { writable: true, keys: null, variables: {} };
  return StoredVault.open({
    ...parts,
    keys: keys ?? { file: join(folder, "vault-key") },
    environment: environmentSecrets(variables),
    writable,
  });
}
