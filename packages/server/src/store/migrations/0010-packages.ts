import type { Migration } from "../migrate.ts";

export const packages: Migration = {
  number: 10,
  name: "packages",
  statements: [
    `create table packages (
      sandbox_id text not null,
      manager text not null,
      name text not null,
      version text not null,
      hash text,
      installed_at_ms integer not null,
      installed_by text not null,
      primary key (sandbox_id, manager, name)
    )`,
  ],
};
