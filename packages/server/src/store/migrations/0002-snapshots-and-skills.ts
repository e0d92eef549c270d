import type { Migration } from "../migrate.ts";

export const snapshotsAndSkills: Migration = {
  number: 2,
  name: "snapshots-and-skills",
  statements: [
    `create table snapshots (
      id text primary key,
      namespace text not null,
      sandbox_id text not null,
      description text not null,
      created_at_ms integer not null,
      created_by text not null,
      manifest text not null,
      files integer not null,
      folders integer not null,
      links integer not null,
      total_bytes integer not null,
      added_bytes integer not null,
      skipped integer not null,
      unreadable integer not null,
      changed integer not null
    )`,
    "create index snapshots_by_age on snapshots (namespace, created_at_ms, id)",
    "create index snapshots_by_sandbox on snapshots (namespace, sandbox_id, created_at_ms, id)",
    `create table skills (
      namespace text not null,
      id text not null,
      name text not null,
      description text not null,
      files integer not null,
      total_bytes integer not null,
      created_at_ms integer not null,
      created_by text not null,
      primary key (namespace, id)
    )`,
    "create index skills_by_age on skills (namespace, created_at_ms, id)",
  ],
};
