import type { Batch } from "./batch.ts";
import type { SecretDelivery, SecretTarget } from "./secret.ts";

/** A secret as the store knows it: all but its name and dates is encrypted. */
export interface SecretRecord {
  namespace: string;
  name: string;
  version: number;
  createdAtMs: number;
  updatedAtMs: number;
  createdBy: string;
  expiresAtMs: number | null;
  usesLeft: number | null;
  /** Id of the master key that wraps the data key; empty, like the next two, once the value is destroyed. */
  keyId: string;
  wrappedKey: string;
  sealed: string;
}

export interface BindingRecord {
  id: string;
  namespace: string;
  name: string;
  target: SecretTarget;
  delivery: SecretDelivery;
  createdAtMs: number;
  createdBy: string;
}

/** Record that a sandbox received a secret. It is kept as long as the sandbox, even when the secret is removed. */
export interface DeliveryRecord {
  sandboxId: string;
  bindingId: string;
  namespace: string;
  name: string;
  version: number;
  delivery: SecretDelivery;
  placeholder: string | null;
  deliveredAtMs: number;
}

/** Store of secrets. Writes resolve when they would survive a kill -9. */
export interface SecretRecords {
  /** In place of the version before; its bindings stay. */
  put(record: SecretRecord, within?: Batch): Promise<void>;
  get(namespace: string, name: string): Promise<SecretRecord | undefined>;
  list(namespace: string): Promise<SecretRecord[]>;
  /** With its bindings. False when there is none. */
  delete(namespace: string, name: string, within?: Batch): Promise<boolean>;
  /** Destroys the value of that version; the rest stays. */
  erase(namespace: string, name: string, version: number, within?: Batch): Promise<void>;
  /** Those whose time has come, and which still have a value. */
  expired(nowMs: number): Promise<SecretRecord[]>;
  /** When the next one's comes; undefined when none will. */
  nextExpiry(): Promise<number | undefined>;
  /** Ids of all master keys that wrap something. */
  keyIds(): Promise<string[]>;
  /** Some that another master key wraps. */
  wrappedOtherwise(keyId: string, limit: number): Promise<SecretRecord[]>;
  /** Only if the record is still what it was. */
  rewrap(record: SecretRecord, to: Pick<SecretRecord, "keyId" | "wrappedKey">, within?: Batch): Promise<boolean>;
  bind(binding: BindingRecord, within?: Batch): Promise<void>;
  unbind(id: string, within?: Batch): Promise<void>;
  bindings(namespace: string): Promise<BindingRecord[]>;
  boundNamespaces(): Promise<string[]>;
  /** Counts a use, unless that sandbox has had this version. `changed`: there is no such version any more. */
  deliver(delivery: DeliveryRecord): Promise<"delivered" | "spent" | "changed">;
  deliveries(sandboxId: string): Promise<DeliveryRecord[]>;
  /** The newest version that a living sandbox had of it; 0 when none had: numbers of a deleted one are not given again. */
  lastDelivered(namespace: string, name: string): Promise<number>;
  /** Sandboxes that have had a secret. */
  holders(): Promise<string[]>;
  /** Forgets what a sandbox had and what was bound to it alone; gives the spent ones that nobody has now. */
  release(sandboxId: string): Promise<SecretRecord[]>;
}
