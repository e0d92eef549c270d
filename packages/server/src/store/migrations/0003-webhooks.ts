import type { Migration } from "../migrate.ts";

export const webhooks: Migration = {
  number: 3,
  name: "webhooks",
  statements: [
    `create table webhooks (
      id text primary key,
      namespace text not null,
      url text not null,
      types text not null,
      secret text not null,
      created_at_ms integer not null
    )`,
    `create table webhook_deliveries (
      id text primary key,
      webhook_id text not null,
      namespace text not null,
      type text not null,
      body text not null,
      created_at_ms integer not null,
      attempts integer not null,
      state text not null,
      due_at_ms integer not null,
      last_error text
    )`,
    "create index webhook_deliveries_due on webhook_deliveries (due_at_ms, id) where state = 'pending'",
    "create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, created_at_ms)",
  ],
};
