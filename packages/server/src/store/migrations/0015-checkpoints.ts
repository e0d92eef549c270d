import type { Migration } from "../migrate.ts";

export const checkpoints: Migration = {
  number: 15,
  name: "checkpoints",
  statements: [
    `create table checkpoints (
      id text primary key not null,
      namespace text not null,
      sandbox_id text not null,
      name text not null,
      engine text not null,
      memory_bytes integer not null,
      created_at_ms integer not null,
      created_by text not null,
      key_name text not null,
      sandbox text not null,
      policy text not null,
      contexts text not null
    )`,
    "create index checkpoints_by_age on checkpoints (namespace, created_at_ms, id)",
  ],
};
