/** Where secrets are kept: values go in, and come out only into a sandbox that an operator has bound them to (S50), or for a registry that an administrator names (S72). */

import { randomUUID } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { Facts, Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import {
  type Handover,
  type HeaderPlaceholder,
  type HeldSecret,
  type PutOutcome,
  type PutSecret,
  type SecretBinding,
  type SecretChange,
  type SecretHolder,
  type SecretInfo,
  secretNamePattern,
  type Vault,
} from "../core/secret.ts";
import type { BindingRecord, SecretRecord, SecretRecords } from "../core/secret-record.ts";
import type { Clock } from "../lib/clock.ts";
import { Turn } from "../lib/turn.ts";
import { checkDelivery, placeOf } from "./check-binding.ts";
import { checkFits, checkLength, warningsOf } from "./check-value.ts";
import { seal } from "./envelope.ts";
import type { EnvironmentSecrets } from "./environment-secrets.ts";
import { Expiry } from "./expiry.ts";
import { type HandOverParts, handOver } from "./hand-over.ts";
import { KeyRing, type KeySource } from "./key-ring.ts";
import { secretLimits } from "./limits.ts";
import { keysNamespace, newKey, readKey } from "./own-keys.ts";
import { Placeholders } from "./placeholders.ts";
import { rewrapAll } from "./rotate.ts";
import { environmentInfo, storedInfo } from "./secret-info.ts";
import { readValue } from "./value-reader.ts";

export interface VaultParts {
  records: SecretRecords;
  keys: KeySource;
  environment: EnvironmentSecrets;
  /** Whether values may be put; else there are those of the environment alone. */
  writable: boolean;
  journal: Recorder;
  clock: Pick<Clock, "wallMs">;
  onError: (error: unknown) => void;
}

type Listener = (change: SecretChange) => Promise<void>;

export class StoredVault implements Vault, Disposable {
  readonly #parts: HandOverParts & Pick<VaultParts, "writable">;
  readonly #ring: KeyRing;
  readonly #openedAtMs: number;
  readonly #bound: Set<string>;
  readonly #holders: Set<string>;
  readonly #placeholders = new Placeholders();
  readonly #listeners: Listener[] = [];
  readonly #expiry: Expiry;
  /** Changes take turns; readers do not wait for them. */
  readonly #turn = new Turn();

  private constructor(parts: VaultParts, ring: KeyRing, bound: string[], holders: string[]) {
    this.#parts = { ...parts, ring };
    this.#ring = ring;
    this.#openedAtMs = parts.clock.wallMs();
    this.#bound = new Set(bound);
    this.#holders = new Set(holders);
    const { records, clock, onError } = parts;
    this.#expiry = new Expiry({ records, clock, onError, expire: (record) => this.#expire(record) });
  }

  static async open(parts: VaultParts): Promise<StoredVault> {
    const { records } = parts;
    const ring = await KeyRing.open(parts.keys, records);
    return new StoredVault(parts, ring, await records.boundNamespaces(), await records.holders());
  }

  async watch(listener: Listener): Promise<void> {
    this.#listeners.push(listener);
    await this.#expiry.look();
  }

  async put(caller: Caller, { name, value, expiresAtMs = null, uses = null }: PutSecret): Promise<PutOutcome> {
    const { records, clock, writable } = this.#parts;
    const { namespace, id } = caller.principal;
    if (!writable)
      throw new AppError("unsupported", "this daemon reads secrets only from its environment", {
        hint: "set vault: store to store secrets",
      });
    checkName(name);
    checkLength(value, name);
    const isNew = await this.#turn.take(async () => {
      const before = await records.get(namespace, name);
      const own = await this.#bindings(namespace, name);
      for (const { delivery } of own) checkFits(name, value, delivery);
      if (before === undefined && (await records.list(namespace)).length >= secretLimits.perNamespace)
        throw new AppError("limit_exceeded", `too many secrets in the namespace (limit: ${secretLimits.perNamespace})`);
      const now = clock.wallMs();
      const last = before?.version ?? (await records.lastDelivered(namespace, name));
      const place = { namespace, name, version: last + 1 };
      const record = {
        ...place,
        ...seal(this.#ring.primary, place, value),
        createdAtMs: before?.createdAtMs ?? now,
        updatedAtMs: now,
        createdBy: before?.createdBy ?? id,
        expiresAtMs,
        usesLeft: uses,
      };
      const data = { secret: name, version: place.version };
      await this.#parts.journal.record({ type: "secret.put", by: caller, data }, (within) =>
        records.put(record, within),
      );
      return before === undefined;
    });
    await this.#expiry.look();
    await this.#tell({ namespace, name });
    return { secret: await this.get(caller, name), isNew, warnings: warningsOf(value) };
  }

  async get(caller: Caller, name: string): Promise<SecretInfo> {
    const { namespace } = caller.principal;
    const record = await this.#parts.records.get(namespace, name);
    const bindings = await this.#bindings(namespace, name);
    if (record !== undefined) return storedInfo(record, bindings, this.#parts.clock.wallMs());
    if (this.#parts.environment.get(namespace)?.has(name) !== true) throw noSecret(name);
    return environmentInfo(namespace, name, bindings, this.#openedAtMs);
  }

  async list(caller: Caller): Promise<SecretInfo[]> {
    const { records, clock, environment } = this.#parts;
    const { namespace } = caller.principal;
    const bindings = await records.bindings(namespace);
    const of = (name: string) => bindings.filter((one) => one.name === name);
    const stored = (await records.list(namespace)).map((record) => storedInfo(record, of(record.name), clock.wallMs()));
    const known = new Set(stored.map(({ name }) => name));
    const given = [...(environment.get(namespace)?.keys() ?? [])].filter((name) => !known.has(name));
    return [...stored, ...given.map((name) => environmentInfo(namespace, name, of(name), this.#openedAtMs))];
  }

  async delete(caller: Caller, name: string): Promise<void> {
    const { namespace } = caller.principal;
    const { records } = this.#parts;
    await this.#turn.take(async () => {
      if ((await records.get(namespace, name)) === undefined) throw noSecret(name);
      const facts: Facts = (within) => records.delete(namespace, name, within);
      await this.#parts.journal.record({ type: "secret.deleted", by: caller, data: { secret: name } }, facts);
    });
    await this.#tell({ namespace, name });
  }

  async bind(caller: Caller, name: string, { target, delivery }: Omit<SecretBinding, "id">): Promise<SecretInfo> {
    const { records, clock } = this.#parts;
    const { namespace, id: createdBy } = caller.principal;
    checkDelivery(delivery);
    await this.#turn.take(async () => {
      await this.get(caller, name);
      await this.#checkFits(namespace, name, delivery);
      const all = await records.bindings(namespace);
      const same = (one: BindingRecord) => placeOf(one) === placeOf({ name, delivery }) && sameTarget(one, { target });
      if (all.some(same)) throw new AppError("conflict", "another secret is bound to the same place: unbind it first");
      if (all.length >= secretLimits.bindings)
        throw new AppError("limit_exceeded", `too many bindings in the namespace (limit: ${secretLimits.bindings})`);
      const id = randomUUID();
      const binding = { id, namespace, name, target, delivery, createdAtMs: clock.wallMs(), createdBy };
      const data = { secret: name, binding_id: id, as: delivery.as, ...targetDetail(target) };
      await this.#parts.journal.record({ type: "secret.bound", by: caller, data }, (within) =>
        records.bind(binding, within),
      );
      this.#bound.add(namespace);
    });
    await this.#tell({ namespace, name });
    return this.get(caller, name);
  }

  async unbind(caller: Caller, name: string, bindingId: string): Promise<SecretInfo> {
    const { namespace } = caller.principal;
    await this.#turn.take(async () => {
      const found = (await this.#bindings(namespace, name)).find(({ id }) => id === bindingId);
      if (found === undefined) throw new AppError("not_found", `unknown binding of the secret ${name.slice(0, 64)}`);
      const facts: Facts = (within) => this.#parts.records.unbind(bindingId, within);
      await this.#parts.journal.record(
        { type: "secret.unbound", by: caller, data: { secret: name, binding_id: bindingId } },
        facts,
      );
    });
    await this.#tell({ namespace, name });
    return this.get(caller, name);
  }

  async rotate(caller: Caller): Promise<number> {
    const { records } = this.#parts;
    return this.#turn.take(async () => {
      await this.#ring.begin();
      await this.#parts.journal.record({ type: "vault.rotated", by: caller, data: { key_id: this.#ring.primary.id } });
      const done = await rewrapAll(this.#ring, records);
      await this.#ring.finish();
      return done;
    });
  }

  concerns({ id, namespace }: Pick<SecretHolder, "id" | "namespace">): boolean {
    return this.#bound.has(namespace) || this.#holders.has(id);
  }

  async deliver(actor: Caller | undefined, holder: SecretHolder, held: readonly HeldSecret[]): Promise<Handover> {
    if (!this.concerns(holder)) return { bring: [], take: [], known: [] };
    const handover = await handOver(this.#parts, actor, holder, held);
    if (handover.bring.length > 0) this.#holders.add(holder.id);
    this.#placeholders.change(holder, handover.bring, handover.take);
    return handover;
  }

  async release(sandboxId: string): Promise<void> {
    if (!this.#holders.has(sandboxId)) return;
    this.#placeholders.forget(sandboxId);
    for (const record of await this.#parts.records.release(sandboxId)) await this.#destroy(record, "secret.spent");
    this.#holders.delete(sandboxId);
  }

  placeholders(sandboxId: string): readonly HeaderPlaceholder[] {
    return this.#placeholders.of(sandboxId);
  }

  reveal(sandboxId: string, placeholder: string, host: string): Promise<Buffer | undefined> {
    return this.#placeholders.reveal(this.#parts, sandboxId, placeholder, host);
  }

  newKey(name: string): Promise<Buffer> {
    return newKey(this.#parts, name);
  }

  readKey(name: string): Promise<Buffer> {
    return readKey(this.#parts, name);
  }

  async dropKey(name: string): Promise<void> {
    await this.#parts.records.delete(keysNamespace, name);
  }

  async keyNames(): Promise<string[]> {
    return (await this.#parts.records.list(keysNamespace)).map(({ name }) => name);
  }

  async heldPlain(sandboxId: string): Promise<boolean> {
    const had = await this.#parts.records.deliveries(sandboxId);
    return had.some(({ delivery }) => delivery.as !== "header");
  }

  /** A value for a registry that whoever may bind it anywhere names; in the audit log before anybody has it. The caller's own copy: wipe it. */
  async lend(caller: Caller, name: string, registry: string): Promise<Buffer> {
    const { namespace } = caller.principal;
    const read = await readValue(this.#parts, namespace, name);
    if (read === undefined) throw noSecret(name);
    try {
      const uses = (await this.#parts.records.get(namespace, name))?.usesLeft ?? null;
      if (uses !== null)
        throw new AppError("unsupported", `the secret ${name} has a limit of uses, so registries cannot use it`);
      await this.#parts.journal.record({
        type: "secret.lent",
        by: caller,
        data: { secret: name, version: read.version, registry },
      });
    } catch (error) {
      read.value.fill(0);
      throw error;
    }
    return read.value;
  }

  /** Every value of a namespace, for what must show none of them; the caller's own copies. */
  async values(namespace: string): Promise<Buffer[]> {
    const { records, environment } = this.#parts;
    const stored = (await records.list(namespace)).map(({ name }) => name);
    const names = new Set([...stored, ...(environment.get(namespace)?.keys() ?? [])]);
    const read = await Promise.all([...names].map((name) => readValue(this.#parts, namespace, name)));
    return read.flatMap((found) => (found === undefined ? [] : [found.value]));
  }

  async #expire(record: SecretRecord): Promise<void> {
    await this.#destroy(record, "secret.expired");
    await this.#tell(record);
  }

  async #destroy({ namespace, name, version }: SecretRecord, type: "secret.expired" | "secret.spent"): Promise<void> {
    const { journal, records } = this.#parts;
    const data = { secret: name, version };
    await journal.record({ type, by: "system", namespace, data }, (within) =>
      records.erase(namespace, name, version, within),
    );
  }

  async #checkFits(namespace: string, name: string, delivery: SecretBinding["delivery"]): Promise<void> {
    const read = await readValue(this.#parts, namespace, name);
    if (read === undefined) return; // the next value is looked at when it is put
    try {
      checkFits(name, read.value, delivery);
    } finally {
      read.value.fill(0);
    }
  }

  async #bindings(namespace: string, name: string): Promise<BindingRecord[]> {
    return (await this.#parts.records.bindings(namespace)).filter((one) => one.name === name);
  }

  async #tell({ namespace, name }: SecretChange): Promise<void> {
    for (const listener of this.#listeners) await listener({ namespace, name });
  }

  [Symbol.dispose](): void {
    this.#expiry[Symbol.dispose]();
  }
}

function checkName(name: string): void {
  if (!secretNamePattern.test(name))
    throw new AppError(
      "invalid",
      "a secret's name must start with a letter and have only letters, digits and underscores",
    );
}

function noSecret(name: string): AppError {
  return new AppError("not_found", `unknown secret ${JSON.stringify(name.slice(0, 64))}`);
}

function sameTarget(one: Pick<SecretBinding, "target">, other: Pick<SecretBinding, "target">): boolean {
  return JSON.stringify(targetDetail(one.target)) === JSON.stringify(targetDetail(other.target));
}

type TargetDetail = { sandbox_id?: string; key_id?: string; server_id?: string; all?: "namespace" };

function targetDetail(target: SecretBinding["target"]): TargetDetail {
  if ("sandboxId" in target) return { sandbox_id: target.sandboxId };
  if ("serverId" in target) return { server_id: target.serverId };
  return "keyId" in target ? { key_id: target.keyId } : { all: "namespace" };
}
