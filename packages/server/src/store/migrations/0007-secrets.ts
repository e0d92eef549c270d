import type { Migration } from "../migrate.ts";

export const secrets: Migration = {
  number: 7,
  name: "secrets",
  statements: [
    `create table secrets (
      namespace text not null,
      name text not null,
      version integer not null,
      created_at_ms integer not null,
      updated_at_ms integer not null,
      created_by text not null,
      expires_at_ms integer,
      uses_left integer,
      key_id text not null,
      wrapped_key text not null,
      sealed text not null,
      primary key (namespace, name)
    )`,
    "create index secrets_by_key on secrets (key_id)",
    "create index secrets_by_expiry on secrets (expires_at_ms) where expires_at_ms is not null and key_id <> ''",
    `create table secret_bindings (
      id text primary key,
      namespace text not null,
      name text not null,
      target text not null,
      delivery text not null,
      created_at_ms integer not null,
      created_by text not null
    )`,
    "create index secret_bindings_by_secret on secret_bindings (namespace, name)",
    `create table secret_deliveries (
      sandbox_id text not null,
      binding_id text not null,
      namespace text not null,
      name text not null,
      version integer not null,
      delivery text not null,
      placeholder text,
      delivered_at_ms integer not null,
      primary key (sandbox_id, binding_id)
    )`,
    "create index secret_deliveries_by_secret on secret_deliveries (namespace, name)",
  ],
};
