import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Kysely } from "kysely";
import { expect, it } from "vitest";
import type { ApiKey } from "../core/api-key.ts";
import { mapRows } from "./columns.ts";
import { InsertRecords } from "./insert-records.ts";
import { openClient } from "./open-client.ts";
import type { Schema } from "./schema.ts";
import { executeBy, SqliteDialect } from "./sqlite-dialect.ts";

it("puts each value into its column, whatever order the fields of a record have", async () => {
  const folder = await mkdtemp("/var/tmp/caisson-insert-");
  const client = await openClient({ path: join(folder, "test.db") });
  const db = new Kysely<Schema>({ dialect: new SqliteDialect(client) });
  const mapping = mapRows<ApiKey>();
  const keys = new InsertRecords(db, "api_keys", mapping, executeBy(client));
  const key: ApiKey = {
    ...({ id: "1", name: "one", namespace: "a", role: "agent", hash: "x" } as const),
    ...{ createdAtMs: 1, expiresAtMs: 2, revokedAtMs: null, lastUsedAtMs: null },
  };
  const backwards = Object.fromEntries(Object.entries({ ...key, id: "2", hash: "y" }).reverse()) as unknown as ApiKey;
  await keys.insert(key);
  await keys.insert(backwards);
  const found = await db.selectFrom("api_keys").selectAll().orderBy("id").execute();
  expect(found.map((row) => mapping.toRecord(row as never))).toEqual([key, { ...key, id: "2", hash: "y" }]);
  await client.close();
  await rm(folder, { recursive: true });
});
