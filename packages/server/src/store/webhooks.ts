import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { Delivery, Webhook, Webhooks } from "../core/webhook.ts";
import { webhookLimits } from "../webhooks/limits.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const webhookColumns = mapRows<Webhook, "types">(["types"]);
const deliveryColumns = mapRows<Delivery>();

/** Webhooks and what is on its way to them. */
export class StoredWebhooks implements Webhooks {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(webhook: Webhook, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("webhooks").values(webhookColumns.toRow(webhook)), within);
  }

  async get(id: string): Promise<Webhook | undefined> {
    const row = await this.#db.selectFrom("webhooks").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : webhookColumns.toRecord(row);
  }

  async list(namespace?: string): Promise<Webhook[]> {
    let query = this.#db.selectFrom("webhooks").selectAll();
    if (namespace !== undefined) query = query.where("namespace", "=", namespace);
    const rows = await query.orderBy("created_at_ms").orderBy("id").execute();
    return rows.map((row) => webhookColumns.toRecord(row));
  }

  async delete(id: string, within?: Batch): Promise<void> {
    if (within !== undefined) return deleteWebhook(this.#db, id, within);
    await this.#db.transaction().execute((transaction) => deleteWebhook(transaction, id));
  }

  async enqueue(delivery: Delivery, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("webhook_deliveries").values(deliveryColumns.toRow(delivery)), within);
  }

  async reached(id: string, position: number, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.updateTable("webhooks").set({ position }).where("id", "=", id), within);
  }

  async due(limit: number): Promise<Delivery[]> {
    const rows = await this.#db
      .selectFrom("webhook_deliveries")
      .selectAll()
      .where("state", "=", "pending")
      .orderBy("due_at_ms")
      .orderBy("id")
      .limit(limit)
      .execute();
    return rows.map((row) => deliveryColumns.toRecord(row));
  }

  async deliveries(webhookId: string, state?: Delivery["state"]): Promise<Delivery[]> {
    let query = this.#db.selectFrom("webhook_deliveries").selectAll().where("webhook_id", "=", webhookId);
    if (state !== undefined) query = query.where("state", "=", state);
    const most = webhookLimits.pending + webhookLimits.settled + webhookLimits.pruneEvery;
    const rows = await query.orderBy("created_at_ms", "desc").orderBy("id").limit(most).execute();
    return rows.map((row) => deliveryColumns.toRecord(row));
  }

  async countPending(): Promise<Map<string, number>> {
    const rows = await this.#db
      .selectFrom("webhook_deliveries")
      .select(["webhook_id", ({ fn }) => fn.countAll<number>().as("pending")])
      .where("state", "=", "pending")
      .groupBy("webhook_id")
      .execute();
    return new Map(rows.map((row) => [row.webhook_id, row.pending]));
  }

  async getDelivery(id: string): Promise<Delivery | undefined> {
    const row = await this.#db.selectFrom("webhook_deliveries").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : deliveryColumns.toRecord(row);
  }

  async settle(id: string, changes: Parameters<Webhooks["settle"]>[1]): Promise<void> {
    const columns = deliveryColumns.toChanges(changes);
    await this.#db.updateTable("webhook_deliveries").set(columns).where("id", "=", id).execute();
  }

  async prune(keep: number): Promise<void> {
    for (const { id } of await this.#db.selectFrom("webhooks").select("id").execute()) {
      const settled = () =>
        this.#db.selectFrom("webhook_deliveries").where("webhook_id", "=", id).where("state", "<>", "pending");
      const newest = settled().select("id").orderBy("created_at_ms", "desc").orderBy("id").limit(keep);
      await this.#db
        .deleteFrom("webhook_deliveries")
        .where("webhook_id", "=", id)
        .where("state", "<>", "pending")
        .where("id", "not in", newest)
        .execute();
    }
  }
}

async function deleteWebhook(db: Kysely<Schema>, id: string, within?: Batch): Promise<void> {
  await change(db, db.deleteFrom("webhook_deliveries").where("webhook_id", "=", id), within);
  await change(db, db.deleteFrom("webhooks").where("id", "=", id), within);
}
