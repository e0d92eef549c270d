import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Kysely } from "kysely";
import { expect, it } from "vitest";
import { InsertRows } from "./insert-rows.ts";
import { openClient } from "./open-client.ts";
import type { Schema } from "./schema.ts";
import { SqliteDialect } from "./sqlite-dialect.ts";

it("puts each value into its column, whatever order and whichever columns a row has", async () => {
  const folder = await mkdtemp("/var/tmp/caisson-insert-");
  const client = await openClient({ path: join(folder, "test.db") });
  const db = new Kysely<Schema>({ dialect: new SqliteDialect(client) });
  const rows = new InsertRows(db, "api_keys");
  const row = { id: "1", name: "one", namespace: "a", role: "agent", hash: "x", created_at_ms: 1, expires_at_ms: 2 };
  await rows.insert(row);
  await rows.insert(Object.fromEntries(Object.entries({ ...row, id: "2", hash: "y" }).reverse()));
  const { expires_at_ms: _, ...fewer } = row;
  await rows.insert({ ...fewer, id: "3", hash: "z" });
  await rows.insert({ ...fewer, id: "4", hash: "v", last_used_at_ms: 7 });
  await expect(rows.insert(row)).rejects.toMatchObject({ code: "conflict" });
  const found = await db.selectFrom("api_keys").selectAll().orderBy("id").execute();
  const empty = { expires_at_ms: null, revoked_at_ms: null, last_used_at_ms: null };
  expect(found).toEqual([
    { ...row, ...empty, expires_at_ms: 2 },
    { ...row, ...empty, id: "2", hash: "y", expires_at_ms: 2 },
    { ...row, ...empty, id: "3", hash: "z" },
    { ...row, ...empty, id: "4", hash: "v", last_used_at_ms: 7 },
  ]);
  await client.close();
  await rm(folder, { recursive: true });
});
