import type { Migration } from "../migrate.ts";

export const templates: Migration = {
  number: 14,
  name: "templates",
  statements: [
    "alter table sandboxes add column template text not null default 'null'",
    `create table templates (
      id text primary key not null,
      namespace text not null,
      name text not null,
      description text not null,
      state text not null,
      step text,
      error text,
      image text not null,
      engine text not null,
      limits text not null,
      env text not null,
      network text not null,
      packages text not null,
      warm_up text not null,
      layer_id text,
      bytes integer not null,
      memory text not null,
      why text,
      builder_id text,
      created_at_ms integer not null,
      created_by text not null
    )`,
  ],
};
