import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Kysely, sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SqliteClient } from "./sqlite-client.ts";
import { SqliteDialect } from "./sqlite-dialect.ts";

interface Tables {
  numbers: { id: number; value: number };
}

let folder: string;
let client: SqliteClient;
let db: Kysely<Tables>;

beforeEach(async () => {
  folder = await mkdtemp("/var/tmp/caisson-transactions-");
  client = await SqliteClient.open({ path: join(folder, "test.db"), transactionMs: 500 });
  db = new Kysely<Tables>({ dialect: new SqliteDialect(client) });
  await sql.raw("create table numbers (id integer primary key, value integer not null)").execute(db);
  await db.insertInto("numbers").values({ id: 1, value: 0 }).execute();
});
afterEach(async () => {
  await client.close();
  await rm(folder, { recursive: true });
});

const value = async () =>
  (await db.selectFrom("numbers").select("value").where("id", "=", 1).executeTakeFirst())?.value;

describe("a transaction of several steps", () => {
  it("has the database for itself: none of many that read and then write loses an update", async () => {
    await Promise.all(
      Array.from({ length: 20 }, () =>
        db.transaction().execute(async (alone) => {
          const row = await alone.selectFrom("numbers").selectAll().where("id", "=", 1).executeTakeFirstOrThrow();
          await alone
            .updateTable("numbers")
            .set({ value: row.value + 1 })
            .where("id", "=", 1)
            .execute();
        }),
      ),
    );
    expect(await value()).toBe(20);
  });

  it("leaves nothing when it fails", async () => {
    const failing = db.transaction().execute(async (alone) => {
      await alone.updateTable("numbers").set({ value: 5 }).execute();
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await value()).toBe(0);
  });

  it("is ended when it takes too long, and what waited behind it goes on", async () => {
    const forever = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const stuck = db.transaction().execute(async (alone) => {
      await alone.updateTable("numbers").set({ value: 5 }).execute();
      begun.resolve();
      await forever.promise;
      await alone.updateTable("numbers").set({ value: 6 }).execute();
    });
    stuck.catch(() => {});
    await begun.promise;
    await db.insertInto("numbers").values({ id: 2, value: 2 }).execute();
    forever.resolve();
    await expect(stuck).rejects.toMatchObject({ code: "timeout" });
    expect(await value()).toBe(0);
  });

  it("is not needed for one step: a step that fails takes no other with it", async () => {
    const outcomes = await Promise.allSettled([
      db.insertInto("numbers").values({ id: 10, value: 1 }).execute(),
      db.insertInto("numbers").values({ id: 1, value: 1 }).execute(),
      db.insertInto("numbers").values({ id: 11, value: 1 }).execute(),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await db.selectFrom("numbers").select("id").orderBy("id").execute()).toEqual([
      { id: 1 },
      { id: 10 },
      { id: 11 },
    ]);
  });
});
