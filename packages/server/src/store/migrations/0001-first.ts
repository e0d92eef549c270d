import type { Migration } from "../migrate.ts";

export const first: Migration = {
  number: 1,
  name: "first",
  statements: [
    `create table sandboxes (
      id text primary key,
      namespace text not null,
      status text not null,
      engine text not null,
      image text not null,
      session_key text,
      limits text not null,
      env text not null,
      labels text not null,
      created_at_ms integer not null,
      last_used_at_ms integer not null,
      idle_timeout_ms integer not null,
      expires_at_ms integer not null,
      paused_at_ms integer,
      origin text not null,
      failure text,
      created_by text not null
    )`,
    "create index sandboxes_by_age on sandboxes (namespace, created_at_ms, id)",
    "create index sandboxes_by_session on sandboxes (namespace, session_key) where session_key is not null",
    "create index sandboxes_living on sandboxes (created_at_ms, id) where status <> 'destroyed'",
    `create table api_keys (
      id text primary key,
      name text not null,
      namespace text not null,
      role text not null,
      hash text not null unique,
      created_at_ms integer not null,
      expires_at_ms integer,
      revoked_at_ms integer,
      last_used_at_ms integer
    )`,
    `create table audit (
      sequence integer primary key,
      at_ms integer not null,
      type text not null,
      namespace text not null,
      actor text not null,
      sandbox_id text,
      request_id text,
      detail text not null,
      hash text not null
    )`,
    "create index audit_by_sandbox on audit (sandbox_id, sequence) where sandbox_id is not null",
    `create table audit_checkpoints (
      sequence integer not null,
      kind text not null,
      hash text not null,
      at_ms integer not null,
      previous integer not null,
      key_id text not null,
      signature text not null,
      primary key (sequence, kind)
    )`,
    `create table idempotency_records (
      name text primary key,
      request_hash text not null,
      status integer not null,
      body text not null,
      created_at_ms integer not null
    )`,
    "create index idempotency_records_by_age on idempotency_records (created_at_ms)",
  ],
};
