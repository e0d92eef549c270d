import type { Kysely, Transaction } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { BindingRecord, DeliveryRecord, SecretRecord, SecretRecords } from "../core/secret-record.ts";
import { change, changedMeanwhile } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const secretColumns = mapRows<SecretRecord>();
const bindingColumns = mapRows<BindingRecord, "target" | "delivery">(["target", "delivery"]);
const deliveryColumns = mapRows<DeliveryRecord, "delivery">(["delivery"]);
const erased = { key_id: "", wrapped_key: "", sealed: "" };

/** Secrets, to whom they are bound, and who has them. */
export class StoredSecrets implements SecretRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async put(record: SecretRecord, within?: Batch): Promise<void> {
    const { namespace, name, ...row } = secretColumns.toRow(record);
    const statement = this.#db
      .insertInto("secrets")
      .values({ namespace, name, ...row })
      .onConflict((conflict) => conflict.columns(["namespace", "name"]).doUpdateSet(row));
    await change(this.#db, statement, within);
  }

  async get(namespace: string, name: string): Promise<SecretRecord | undefined> {
    const row = await this.#secret(namespace, name).selectAll().executeTakeFirst();
    return row === undefined ? undefined : secretColumns.toRecord(row);
  }

  #secret(namespace: string, name: string) {
    return this.#db.selectFrom("secrets").where("namespace", "=", namespace).where("name", "=", name);
  }

  async list(namespace: string): Promise<SecretRecord[]> {
    const query = this.#db.selectFrom("secrets").selectAll().where("namespace", "=", namespace);
    return (await query.orderBy("name").execute()).map((row) => secretColumns.toRecord(row));
  }

  async delete(namespace: string, name: string, within?: Batch): Promise<boolean> {
    if (within !== undefined) return deleteSecret(this.#db, namespace, name, within);
    return this.#db.transaction().execute((transaction) => deleteSecret(transaction, namespace, name));
  }

  async erase(namespace: string, name: string, version: number, within?: Batch): Promise<void> {
    const statement = this.#db
      .updateTable("secrets")
      .set(erased)
      .where("namespace", "=", namespace)
      .where("name", "=", name)
      .where("version", "=", version);
    await change(this.#db, statement, within);
  }

  async expired(nowMs: number): Promise<SecretRecord[]> {
    const query = this.#db.selectFrom("secrets").selectAll().where("expires_at_ms", "<=", nowMs);
    return (await query.where("key_id", "<>", "").execute()).map((row) => secretColumns.toRecord(row));
  }

  async nextExpiry(): Promise<number | undefined> {
    const row = await this.#db
      .selectFrom("secrets")
      .select("expires_at_ms")
      .where("expires_at_ms", "is not", null)
      .where("key_id", "<>", "")
      .orderBy("expires_at_ms")
      .limit(1)
      .executeTakeFirst();
    return row?.expires_at_ms ?? undefined;
  }

  async keyIds(): Promise<string[]> {
    const rows = await this.#db.selectFrom("secrets").select("key_id").distinct().where("key_id", "<>", "").execute();
    return rows.map(({ key_id }) => key_id);
  }

  async wrappedOtherwise(keyId: string, limit: number): Promise<SecretRecord[]> {
    const query = this.#db.selectFrom("secrets").selectAll().where("key_id", "not in", [keyId, ""]);
    return (await query.limit(limit).execute()).map((row) => secretColumns.toRecord(row));
  }

  rewrap(record: SecretRecord, to: Pick<SecretRecord, "keyId" | "wrappedKey">, within?: Batch): Promise<boolean> {
    const statement = this.#db
      .updateTable("secrets")
      .set(secretColumns.toChanges(to))
      .where("namespace", "=", record.namespace)
      .where("name", "=", record.name)
      .where("version", "=", record.version)
      .where("key_id", "=", record.keyId);
    return change(this.#db, statement, within, changedMeanwhile(`secret ${record.name}`));
  }

  async bind(binding: BindingRecord, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("secret_bindings").values(bindingColumns.toRow(binding)), within);
  }

  async unbind(id: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("secret_bindings").where("id", "=", id), within);
  }

  async bindings(namespace: string): Promise<BindingRecord[]> {
    const query = this.#db.selectFrom("secret_bindings").selectAll().where("namespace", "=", namespace);
    const rows = await query.orderBy("created_at_ms").orderBy("id").execute();
    return rows.map((row) => bindingColumns.toRecord(row));
  }

  async boundNamespaces(): Promise<string[]> {
    const rows = await this.#db.selectFrom("secret_bindings").select("namespace").distinct().execute();
    return rows.map(({ namespace }) => namespace);
  }

  deliver(delivery: DeliveryRecord): ReturnType<SecretRecords["deliver"]> {
    const row = deliveryColumns.toRow(delivery);
    return this.#db.transaction().execute(async (transaction) => {
      const refusal = (await hadThis(transaction, delivery)) ? undefined : await countUse(transaction, delivery);
      if (refusal !== undefined) return refusal;
      const { version, delivered_at_ms } = row;
      await transaction
        .insertInto("secret_deliveries")
        .values(row)
        .onConflict((conflict) =>
          conflict.columns(["sandbox_id", "binding_id"]).doUpdateSet({ version, delivered_at_ms }),
        )
        .execute();
      return "delivered";
    });
  }

  async deliveries(sandboxId: string): Promise<DeliveryRecord[]> {
    const query = this.#db.selectFrom("secret_deliveries").selectAll().where("sandbox_id", "=", sandboxId);
    return (await query.execute()).map((row) => deliveryColumns.toRecord(row));
  }

  async lastDelivered(namespace: string, name: string): Promise<number> {
    const query = this.#db.selectFrom("secret_deliveries").select(({ fn }) => fn.max("version").as("last"));
    const row = await query.where("namespace", "=", namespace).where("name", "=", name).executeTakeFirst();
    return row?.last ?? 0;
  }

  async holders(): Promise<string[]> {
    const rows = await this.#db.selectFrom("secret_deliveries").select("sandbox_id").distinct().execute();
    return rows.map(({ sandbox_id }) => sandbox_id);
  }

  release(sandboxId: string): Promise<SecretRecord[]> {
    return this.#db.transaction().execute(async (transaction) => {
      const had = transaction.selectFrom("secret_deliveries").where("sandbox_id", "=", sandboxId);
      const names = await had.select(["namespace", "name"]).distinct().execute();
      await transaction.deleteFrom("secret_deliveries").where("sandbox_id", "=", sandboxId).execute();
      const target = JSON.stringify({ sandboxId } satisfies BindingRecord["target"]);
      await transaction.deleteFrom("secret_bindings").where("target", "=", target).execute();
      const spent: SecretRecord[] = [];
      for (const { namespace, name } of names) {
        const row = await transaction
          .selectFrom("secrets")
          .selectAll()
          .where("namespace", "=", namespace)
          .where("name", "=", name)
          .where("uses_left", "=", 0)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom("secret_deliveries")
                  .select("sandbox_id")
                  .where("namespace", "=", namespace)
                  .where("name", "=", name),
              ),
            ),
          )
          .executeTakeFirst();
        if (row !== undefined && row.key_id !== "") spent.push(secretColumns.toRecord(row));
      }
      return spent;
    });
  }
}

async function deleteSecret(db: Kysely<Schema>, namespace: string, name: string, within?: Batch): Promise<boolean> {
  const rows = (table: "secret_bindings" | "secrets") =>
    db.deleteFrom(table).where("namespace", "=", namespace).where("name", "=", name);
  await change(db, rows("secret_bindings"), within);
  return change(db, rows("secrets"), within, changedMeanwhile(`secret ${name}`));
}

async function hadThis(db: Transaction<Schema>, { sandboxId, namespace, name, version }: DeliveryRecord) {
  const found = await db
    .selectFrom("secret_deliveries")
    .select("binding_id")
    .where("sandbox_id", "=", sandboxId)
    .where("namespace", "=", namespace)
    .where("name", "=", name)
    .where("version", "=", version)
    .executeTakeFirst();
  return found !== undefined;
}

async function countUse(db: Transaction<Schema>, { namespace, name, version }: DeliveryRecord) {
  if (version === 0) return undefined; // not in the store: it comes from the environment
  const secret = await db
    .selectFrom("secrets")
    .select("uses_left")
    .where("namespace", "=", namespace)
    .where("name", "=", name)
    .where("version", "=", version)
    .where("key_id", "<>", "")
    .executeTakeFirst();
  if (secret === undefined) return "changed";
  if (secret.uses_left === null) return undefined;
  const { numUpdatedRows } = await db
    .updateTable("secrets")
    .set(({ eb }) => ({ uses_left: eb("uses_left", "-", 1) }))
    .where("namespace", "=", namespace)
    .where("name", "=", name)
    .where("uses_left", ">", 0)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? undefined : "spent";
}
