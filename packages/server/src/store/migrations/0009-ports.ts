import type { Migration } from "../migrate.ts";

export const ports: Migration = {
  number: 9,
  name: "ports",
  statements: [
    `create table ports (
      sandbox_id text not null,
      port integer not null,
      visibility text not null,
      primary key (sandbox_id, port)
    )`,
  ],
};
