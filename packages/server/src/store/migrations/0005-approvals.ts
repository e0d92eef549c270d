import type { Migration } from "../migrate.ts";

export const approvals: Migration = {
  number: 5,
  name: "approvals",
  statements: [
    `create table approvals (
      id text primary key,
      kind text not null,
      namespace text not null,
      sandbox_id text,
      subject text not null,
      text text,
      digest text not null,
      detail text not null,
      state text not null,
      created_at_ms integer not null,
      expires_at_ms integer not null,
      scope text,
      reason text,
      asked_by text,
      decided_by text,
      decided_at_ms integer,
      used_at_ms integer,
      revoked_at_ms integer,
      asked integer not null
    )`,
    "create index approvals_by_age on approvals (namespace, created_at_ms, id)",
    "create index approvals_by_question on approvals (namespace, kind, digest)",
    "create index approvals_pending on approvals (id) where state = 'pending'",
    "create index approvals_standing on approvals (namespace, kind) where scope in ('sandbox', 'always') and revoked_at_ms is null",
    "create index approvals_of_sandbox on approvals (sandbox_id) where scope = 'sandbox' and revoked_at_ms is null",
  ],
};
