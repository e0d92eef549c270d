import type { Kysely } from "kysely";
import type { Batch } from "../core/batch.ts";
import type { NamespacePolicy } from "../core/egress.ts";
import type { PolicyRecords, SandboxPolicies } from "../core/egress-policies.ts";
import { change } from "./batch.ts";
import { mapRows } from "./columns.ts";
import type { Schema } from "./schema.ts";

const namespaceRows = mapRows<{ namespace: string; policy: NamespacePolicy }, "policy">(["policy"]);
const sandboxRows = mapRows<{ sandboxId: string } & SandboxPolicies, keyof SandboxPolicies>(["sandbox", "approval"]);

/** Policies of namespaces and of sandboxes that have one. */
export class StoredPolicies implements PolicyRecords {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async namespaces(): Promise<{ namespace: string; policy: NamespacePolicy }[]> {
    const rows = await this.#db.selectFrom("egress_namespaces").selectAll().execute();
    return rows.map((row) => namespaceRows.toRecord(row));
  }

  async putNamespace(namespace: string, policy: NamespacePolicy, within?: Batch): Promise<void> {
    const row = namespaceRows.toRow({ namespace, policy });
    const statement = this.#db
      .insertInto("egress_namespaces")
      .values(row)
      .onConflict((conflict) => conflict.column("namespace").doUpdateSet(row));
    await change(this.#db, statement, within);
  }

  async sandboxes(): Promise<({ sandboxId: string } & SandboxPolicies)[]> {
    const rows = await this.#db.selectFrom("egress_sandboxes").selectAll().execute();
    return rows.map((row) => sandboxRows.toRecord(row));
  }

  async putSandbox(sandboxId: string, policies: SandboxPolicies, within?: Batch): Promise<void> {
    const row = sandboxRows.toRow({ sandboxId, ...policies });
    const statement = this.#db
      .insertInto("egress_sandboxes")
      .values(row)
      .onConflict((conflict) => conflict.column("sandbox_id").doUpdateSet(row));
    await change(this.#db, statement, within);
  }

  async deleteSandbox(sandboxId: string, within?: Batch): Promise<void> {
    await change(this.#db, this.#db.deleteFrom("egress_sandboxes").where("sandbox_id", "=", sandboxId), within);
  }
}
