import type { Migration } from "../migrate.ts";

export const egress: Migration = {
  number: 8,
  name: "egress",
  statements: [
    `create table egress_namespaces (
      namespace text primary key,
      policy text not null
    )`,
    `create table egress_sandboxes (
      sandbox_id text primary key,
      sandbox text not null,
      approval text not null
    )`,
    `create table egress_attempts (
      sequence integer primary key autoincrement,
      namespace text not null,
      id text not null unique,
      sandbox_id text not null,
      host text not null,
      port integer not null,
      address text,
      verdict text not null,
      rule text,
      layer text,
      reason text,
      approval_id text,
      bytes_up integer not null,
      bytes_down integer not null,
      started_at_ms integer not null,
      duration_ms integer
    )`,
    "create index egress_attempts_by_namespace on egress_attempts (namespace, sequence)",
    "create index egress_attempts_by_sandbox on egress_attempts (sandbox_id, sequence)",
  ],
};
