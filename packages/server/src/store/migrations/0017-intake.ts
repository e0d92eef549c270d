import type { Migration } from "../migrate.ts";

/** How far the intake of a store (docs/store.md) is in it: one row. Its salt is 0 until the first one is drawn. */
export const intake: Migration = {
  number: 17,
  name: "intake",
  statements: [
    "create table intake (salt bigint not null, number bigint not null, next_at bigint not null)",
    "insert into intake (salt, number, next_at) values (0, 0, 0)",
  ],
};
