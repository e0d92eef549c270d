import type { Migration } from "../migrate.ts";

export const keptArtifacts: Migration = {
  number: 6,
  name: "kept artifacts",
  statements: [
    "alter table sandboxes add column keep_artifacts_ms integer not null default 0",
    `create table kept_artifacts (
      id text primary key,
      namespace text not null,
      manifest text not null,
      files integer not null,
      total_bytes integer not null,
      created_at_ms integer not null,
      expires_at_ms integer not null,
      created_by text not null
    )`,
    "create index kept_artifacts_by_age on kept_artifacts (namespace, created_at_ms, id)",
    "create index kept_artifacts_by_end on kept_artifacts (expires_at_ms)",
  ],
};
