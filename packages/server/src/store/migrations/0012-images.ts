import type { Migration } from "../migrate.ts";

export const images: Migration = {
  number: 12,
  name: "images",
  statements: [
    "alter table sandboxes add column layer_id text",
    `create table images (
      id text primary key not null,
      name text not null,
      aliases text not null,
      description text not null,
      source text not null,
      digest text not null,
      layer_id text,
      config text not null,
      bytes integer not null,
      state text not null,
      step text,
      error text,
      created_at_ms integer not null,
      created_by text not null
    )`,
  ],
};
