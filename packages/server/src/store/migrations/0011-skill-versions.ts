import type { Migration } from "../migrate.ts";

export const skillVersions: Migration = {
  number: 11,
  name: "skill versions",
  statements: [
    "alter table skills add column version text not null default ''",
    // Those that are there named none. Where two would have the same, each gets its whole id.
    `update skills set version = case when exists (
      select 1 from skills as other where other.namespace = skills.namespace and other.name = skills.name
        and other.id <> skills.id and substr(other.id, 1, 12) = substr(skills.id, 1, 12)
    ) then id else substr(id, 1, 12) end`,
    "create unique index skills_by_version on skills (namespace, name, version)",
  ],
};
