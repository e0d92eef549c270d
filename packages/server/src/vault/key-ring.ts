import { AppError } from "../core/errors.ts";
import type { SecretRecords } from "../core/secret-record.ts";
import { readKeyFile, writeKeyFile } from "./key-file.ts";
import { type MasterKey, newMasterKey, parseMasterKeys } from "./master-key.ts";

/** Where master keys come from. */
export type KeySource = { file: string } | { keys: string; place: string };

/** The master keys of a vault: the first wraps, all unwrap. */
export class KeyRing {
  #keys: readonly MasterKey[];
  readonly #file: string | undefined;

  private constructor(keys: readonly MasterKey[], file: string | undefined) {
    this.#keys = keys;
    this.#file = file;
  }

  /** Refuses keys that do not fit what is in the store, before anything is written. */
  static async open(source: KeySource, records: Pick<SecretRecords, "keyIds">): Promise<KeyRing> {
    const used = await records.keyIds();
    const place = "file" in source ? source.file : source.place;
    let keys = "file" in source ? await readKeyFile(source.file) : parseMasterKeys(source.keys, source.place);
    if (keys === undefined && used.length > 0)
      throw new AppError("unavailable", `the vault's master key ${place} is missing, but the store has secrets`, {
        hint: "restore the file, or set the key in CAISSON_VAULT_KEY",
      });
    if (keys === undefined) {
      keys = [newMasterKey()];
      await writeKeyFile(place, keys, true);
    }
    const known = new Set(keys.map(({ id }) => id));
    if (!used.every((id) => known.has(id)))
      throw new AppError("forbidden", `${place} is not the master key that encrypts the vault's secrets`, {
        hint: "set the right key; nothing was changed",
      });
    return new KeyRing(keys, "file" in source ? source.file : undefined);
  }

  get primary(): MasterKey {
    const [first] = this.#keys;
    if (first === undefined) throw new AppError("internal", "the vault has no master key");
    return first;
  }

  find(id: string): MasterKey | undefined {
    return this.#keys.find((key) => key.id === id);
  }

  /** A key of a file is made anew; others are given, the new one first. From now on it wraps, and all that were still unwrap. */
  async begin(): Promise<void> {
    if (this.#file === undefined) {
      if (this.#keys.length > 1) return;
      throw new AppError("conflict", "no new master key to rotate to", {
        hint: "set both keys in CAISSON_VAULT_KEY, the new one first, and restart the daemon",
      });
    }
    // One that an interrupted rotation left behind is gone on with.
    const keys = this.#keys.length > 1 ? this.#keys : [newMasterKey(), ...this.#keys];
    await writeKeyFile(this.#file, keys, false);
    this.#keys = keys;
  }

  /** Nothing is wrapped by the others any more. */
  async finish(): Promise<void> {
    const keys = [this.primary];
    if (this.#file !== undefined) await writeKeyFile(this.#file, keys, false);
    this.#keys = keys;
  }
}
