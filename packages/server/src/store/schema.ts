import type { Generated } from "kysely";
import type { ApiKey } from "../core/api-key.ts";
import type { Approval } from "../core/approval.ts";
import type { KeptCheckpoint } from "../core/checkpoint.ts";
import type { LoggedAttempt } from "../core/egress-policies.ts";
import type { ImageRecord } from "../core/image-record.ts";
import type { KeptArtifacts } from "../core/kept-artifacts.ts";
import type { PackageRecord } from "../core/package.ts";
import type { SharedPort } from "../core/port.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import type { BindingRecord, DeliveryRecord, SecretRecord } from "../core/secret-record.ts";
import type { ServerRecord, ServerVersion } from "../core/server.ts";
import type { SkillRecord } from "../core/skill.ts";
import type { SnapshotRecord } from "../core/snapshot.ts";
import type { TemplateRecord } from "../core/template.ts";
import type { Delivery, Webhook } from "../core/webhook.ts";
import type { Checkpoint } from "./audit/checkpoint.ts";
import type { Row } from "./columns.ts";

/** The tables of create-tables.ts. A row that a record becomes follows from the record's type and the names of its JSON fields. */
export interface Schema {
  sandboxes: Row<SandboxRecord, "limits" | "env" | "labels" | "template">;
  api_keys: Row<ApiKey, "scopes">;
  audit: AuditTableRow;
  audit_checkpoints: Row<Checkpoint>;
  audit_contents: ContentRow;
  idempotency_records: IdempotencyRow;
  ports: Row<SharedPort>;
  webhooks: Row<Webhook, "types">;
  webhook_deliveries: Row<Delivery>;
  snapshots: Row<SnapshotRecord>;
  skills: Row<SkillRecord>;
  approvals: Row<Approval, "detail">;
  kept_artifacts: Row<KeptArtifacts>;
  secrets: Row<SecretRecord>;
  secret_bindings: Row<BindingRecord, "target" | "delivery">;
  secret_deliveries: Row<DeliveryRecord, "delivery">;
  egress_namespaces: { namespace: string; policy: string };
  egress_sandboxes: { sandbox_id: string; sandbox: string; approval: string };
  egress_attempts: Row<Omit<LoggedAttempt, "sequence">> & { sequence: Generated<number> };
  packages: Row<PackageRecord>;
  images: Row<ImageRecord, "aliases" | "config">;
  templates: Row<TemplateRecord, "image" | "limits" | "env" | "network" | "packages" | "warmUp" | "memory">;
  servers: Row<ServerRecord, "config">;
  /** SQLite has no booleans: `held` is 0 or 1. */
  server_versions: Row<
    Omit<ServerVersion, "held"> & { held: number },
    "source" | "image" | "command" | "contact" | "packages"
  >;
  checkpoints: Row<KeptCheckpoint, "sandbox" | "policy">;
  runs: RunRow;
}

export interface AuditTableRow {
  position: number;
  namespace: string;
  sequence: number;
  at_ms: number;
  type: string;
  actor: string;
  sandbox_id: string | null;
  request_id: string | null;
  run_id: string | null;
  /** Canonical JSON. */
  detail: string;
  hash: string;
  mac: string;
  /** Of the chain's rows up to this one. */
  chain_bytes: number;
}

interface ContentRow {
  position: number;
  namespace: string;
  at_ms: number;
  kind: "redacted" | "full";
  arguments: string;
  result: string;
  truncated: number;
  /** Of the namespace's content up to this one. */
  through_bytes: number;
}

interface IdempotencyRow {
  name: string;
  request_hash: string;
  status: number;
  body: string;
  created_at_ms: number;
}

interface RunRow {
  sequence: Generated<number>;
  run_id: string;
  namespace: string;
  sandbox_id: string;
  ended_at_ms: number;
  /** Of the record. */
  bytes: number;
  /** JSON. */
  record: string;
}
