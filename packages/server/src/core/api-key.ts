import type { Batch } from "./batch.ts";
import type { KeyScope, Role } from "./scope.ts";

/** Record of an API key; it never holds the key. */
export interface ApiKey {
  id: string;
  name: string;
  namespace: string;
  role: Role;
  /** All that the key may do; null: what its role may. */
  scopes: readonly KeyScope[] | null;
  /** SHA-256 of the key; it is random, so it needs no salt. Hex. */
  hash: string;
  createdAtMs: number;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  lastUsedAtMs: number | null;
}

export interface ApiKeys {
  insert(key: ApiKey, within?: Batch): Promise<void>;
  byHash(hash: string): Promise<ApiKey | undefined>;
  list(namespace?: string): Promise<ApiKey[]>;
  get(id: string): Promise<ApiKey | undefined>;
  update(id: string, changes: Partial<Pick<ApiKey, "revokedAtMs" | "lastUsedAtMs">>, within?: Batch): Promise<void>;
}
