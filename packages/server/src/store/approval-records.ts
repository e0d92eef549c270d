import type { Kysely, SelectQueryBuilder } from "kysely";
import type { Approval, ApprovalQuery, ApprovalRecords, ApprovalScope } from "../core/approval.ts";
import type { ApprovalKind } from "../core/approval-kinds.ts";
import type { Batch } from "../core/batch.ts";
import { change, changedMeanwhile } from "./batch.ts";
import { mapRows } from "./columns.ts";
import { newestFirst, type PageStart } from "./newest-first.ts";
import type { Schema } from "./schema.ts";

const mapping = mapRows<Approval, "detail">(["detail"]);

const lasting = ["sandbox", "always"] as const;

export class StoredApprovals implements ApprovalRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async insert(approval: Approval, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.insertInto("approvals").values(mapping.toRow(approval)), within);
  }

  async get(id: string): Promise<Approval | undefined> {
    const row = await this.#db.selectFrom("approvals").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? undefined : mapping.toRecord(row);
  }

  async list({
    namespace,
    state,
    kind,
    sandboxId,
    runId,
    cursor,
    limit,
  }: ApprovalQuery & { namespace: string }): Promise<Approval[]> {
    let query = this.#db.selectFrom("approvals").selectAll().where("namespace", "=", namespace);
    if (state !== undefined) query = query.where("state", "=", state);
    if (kind !== undefined) query = query.where("kind", "=", kind);
    if (sandboxId !== undefined) query = query.where("sandbox_id", "=", sandboxId);
    if (runId !== undefined) query = query.where("run_id", "=", runId);
    const after = cursor === undefined ? undefined : await this.#start(cursor, namespace);
    const rows = await newestFirst(query, after, limit).execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async standing(
    { namespace, kind, sandboxId, digest }: Parameters<ApprovalRecords["standing"]>[0],
    scopes: readonly ApprovalScope[],
    sinceMs: number,
  ): Promise<Approval | undefined> {
    const rows = await this.#db
      .selectFrom("approvals")
      .selectAll()
      .where("namespace", "=", namespace)
      .where("kind", "=", kind)
      .where("digest", "=", digest)
      .where("state", "in", ["approved", "denied"])
      .where("scope", "in", scopes)
      .where("revoked_at_ms", "is", null)
      .where((eb) =>
        eb.or([
          eb("scope", "=", "always"),
          eb.and([eb("scope", "=", "sandbox"), eb("sandbox_id", "=", sandboxId)]),
          eb.and([
            eb("scope", "=", "once"),
            eb("sandbox_id", sandboxId === null ? "is" : "=", sandboxId),
            eb("state", "=", "approved"),
            eb("used_at_ms", "is", null),
            eb("decided_at_ms", ">=", sinceMs),
          ]),
        ]),
      )
      // denied before approved; then always, sandbox, once
      .orderBy("state", "desc")
      .orderBy((eb) =>
        eb.case().when("scope", "=", "always").then(0).when("scope", "=", "sandbox").then(1).else(2).end(),
      )
      .orderBy("decided_at_ms", "desc")
      .limit(1)
      .execute();
    return rows[0] === undefined ? undefined : mapping.toRecord(rows[0]);
  }

  async countStanding(namespace: string, kind: ApprovalKind): Promise<number> {
    const row = await this.#db
      .selectFrom("approvals")
      .where("namespace", "=", namespace)
      .where("kind", "=", kind)
      .where("scope", "in", lasting)
      .where("revoked_at_ms", "is", null)
      .select(({ fn }) => fn.countAll<number>().as("rows"))
      .executeTakeFirstOrThrow();
    return Number(row.rows);
  }

  use(id: string, atMs: number, within?: Batch): Promise<boolean> {
    const statement = this.#db
      .updateTable("approvals")
      .set({ used_at_ms: atMs })
      .where("id", "=", id)
      .where("used_at_ms", "is", null)
      .where("revoked_at_ms", "is", null);
    return change(this.#db, statement, within, changedMeanwhile(`approval ${id}`));
  }

  async update(id: string, changes: Partial<Omit<Approval, "id" | "namespace">>, within?: Batch): Promise<void> {
    const statement = this.#db.updateTable("approvals").set(mapping.toChanges(changes)).where("id", "=", id);
    await change(this.#db, statement, within);
  }

  async pending(): Promise<Approval[]> {
    const rows = await this.#db.selectFrom("approvals").selectAll().where("state", "=", "pending").execute();
    return rows.map((row) => mapping.toRecord(row));
  }

  async forget(sandboxId: string, atMs: number, within?: Batch): Promise<void> {
    const statement = this.#db
      .updateTable("approvals")
      .set({ revoked_at_ms: atMs })
      .where("sandbox_id", "=", sandboxId)
      .where("scope", "=", "sandbox")
      .where("revoked_at_ms", "is", null);
    await change(this.#db, statement, within);
  }

  async prune(beforeMs: number, keep: number): Promise<void> {
    for (const { namespace } of await this.#db.selectFrom("approvals").select("namespace").distinct().execute()) {
      const over = <O>(query: SelectQueryBuilder<Schema, "approvals", O>) =>
        query
          .where("namespace", "=", namespace)
          .where("state", "<>", "pending")
          .where((eb) =>
            eb.or([eb("scope", "is", null), eb("scope", "=", "once"), eb("revoked_at_ms", "is not", null)]),
          );
      const rows = over(this.#db.selectFrom("approvals")).select("created_at_ms").orderBy("created_at_ms", "desc");
      const first = await rows.offset(keep).limit(1).executeTakeFirst();
      const limitMs = Math.max(beforeMs, (first?.created_at_ms ?? -1) + 1);
      const old = over(this.#db.selectFrom("approvals")).select("id").where("created_at_ms", "<", limitMs);
      await this.#db.deleteFrom("approvals").where("id", "in", old).execute();
    }
  }

  async #start(cursor: string, namespace: string): Promise<PageStart> {
    const last = await this.get(cursor);
    return last?.namespace === namespace ? last : null;
  }
}
