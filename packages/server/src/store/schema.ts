import type { Generated } from "kysely";
import type { ApprovalScope, ApprovalState } from "../core/approval.ts";
import type { ApprovalKind } from "../core/approval-kinds.ts";
import type { EgressAttempt, EgressLayer } from "../core/egress.ts";
import type { EngineName } from "../core/engine.ts";
import type { ImageSource, ImageState } from "../core/image-record.ts";
import type { FeedType } from "../core/journal.ts";
import type { SandboxState } from "../core/lifecycle.ts";
import type { PackageManager } from "../core/package.ts";
import type { PortVisibility } from "../core/port.ts";
import type { Role } from "../core/scope.ts";
import type { TemplateState, TemplateStep } from "../core/template.ts";
import type { Delivery } from "../core/webhook.ts";
import type { Checkpoint } from "./audit/checkpoint.ts";

/** The tables of create-tables.ts. */
export interface Schema {
  sandboxes: SandboxRow;
  api_keys: ApiKeyRow;
  audit: AuditTableRow;
  audit_checkpoints: CheckpointRow;
  audit_contents: ContentRow;
  idempotency_records: IdempotencyRow;
  ports: PortRow;
  webhooks: WebhookRow;
  webhook_deliveries: DeliveryRow;
  snapshots: SnapshotRow;
  skills: SkillRow;
  approvals: ApprovalRow;
  kept_artifacts: KeptArtifactsRow;
  secrets: SecretRow;
  secret_bindings: BindingRow;
  secret_deliveries: SecretDeliveryRow;
  egress_namespaces: { namespace: string; policy: string };
  egress_sandboxes: { sandbox_id: string; sandbox: string; approval: string };
  egress_attempts: AttemptRow;
  packages: PackageRow;
  images: ImageRow;
  templates: TemplateRow;
  checkpoints: SavedRow;
  runs: RunRow;
}

interface SandboxRow {
  id: string;
  namespace: string;
  status: SandboxState;
  engine: EngineName;
  image: string;
  layer_id: string | null;
  session_key: string | null;
  /** JSON, like env and labels. */
  limits: string;
  env: string;
  labels: string;
  created_at_ms: number;
  last_used_at_ms: number;
  idle_timeout_ms: number;
  expires_at_ms: number;
  paused_at_ms: number | null;
  origin: string;
  failure: string | null;
  created_by: string;
  output_folder: string | null;
  keep_artifacts_ms: number;
  /** JSON. */
  template: string;
}

interface KeptArtifactsRow {
  id: string;
  namespace: string;
  manifest: string;
  files: number;
  total_bytes: number;
  created_at_ms: number;
  expires_at_ms: number;
  created_by: string;
}

interface ApiKeyRow {
  id: string;
  name: string;
  namespace: string;
  role: Role;
  hash: string;
  created_at_ms: number;
  expires_at_ms: number | null;
  revoked_at_ms: number | null;
  last_used_at_ms: number | null;
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

interface CheckpointRow {
  namespace: string;
  sequence: number;
  kind: Checkpoint["kind"];
  hash: string;
  at_ms: number;
  previous: number;
  key_id: string;
  signature: string;
}

interface IdempotencyRow {
  name: string;
  request_hash: string;
  status: number;
  body: string;
  created_at_ms: number;
}

interface SnapshotRow {
  id: string;
  namespace: string;
  sandbox_id: string;
  description: string;
  created_at_ms: number;
  created_by: string;
  manifest: string;
  files: number;
  folders: number;
  links: number;
  total_bytes: number;
  added_bytes: number;
  skipped: number;
  unreadable: number;
  changed: number;
}

interface PackageRow {
  sandbox_id: string;
  manager: PackageManager;
  name: string;
  version: string;
  hash: string | null;
  installed_at_ms: number;
  installed_by: string;
}

interface SkillRow {
  id: string;
  namespace: string;
  name: string;
  version: string;
  description: string;
  files: number;
  total_bytes: number;
  created_at_ms: number;
  created_by: string;
}

interface ApprovalRow {
  id: string;
  kind: ApprovalKind;
  namespace: string;
  sandbox_id: string | null;
  run_id: string | null;
  subject: string;
  text: string | null;
  digest: string;
  /** JSON. */
  detail: string;
  state: ApprovalState;
  created_at_ms: number;
  expires_at_ms: number;
  scope: ApprovalScope | null;
  reason: string | null;
  asked_by: string | null;
  decided_by: string | null;
  decided_at_ms: number | null;
  used_at_ms: number | null;
  revoked_at_ms: number | null;
  asked: number;
}

interface WebhookRow {
  id: string;
  namespace: string;
  url: string;
  /** JSON. */
  types: string;
  secret: string;
  created_at_ms: number;
  position: number;
}

interface DeliveryRow {
  id: string;
  webhook_id: string;
  namespace: string;
  type: FeedType;
  body: string;
  created_at_ms: number;
  attempts: number;
  state: Delivery["state"];
  due_at_ms: number;
  last_error: string | null;
}

interface SecretRow {
  namespace: string;
  name: string;
  version: number;
  created_at_ms: number;
  updated_at_ms: number;
  created_by: string;
  expires_at_ms: number | null;
  uses_left: number | null;
  key_id: string;
  wrapped_key: string;
  sealed: string;
}

interface BindingRow {
  id: string;
  namespace: string;
  name: string;
  /** JSON, like delivery. */
  target: string;
  delivery: string;
  created_at_ms: number;
  created_by: string;
}

interface SecretDeliveryRow {
  sandbox_id: string;
  binding_id: string;
  namespace: string;
  name: string;
  version: number;
  delivery: string;
  placeholder: string | null;
  delivered_at_ms: number;
}

interface ImageRow {
  id: string;
  name: string;
  /** JSON, like config. */
  aliases: string;
  description: string;
  source: ImageSource;
  digest: string;
  layer_id: string | null;
  config: string;
  bytes: number;
  state: ImageState;
  step: string | null;
  error: string | null;
  created_at_ms: number;
  created_by: string;
}

interface PortRow {
  sandbox_id: string;
  port: number;
  visibility: PortVisibility;
}

interface AttemptRow {
  sequence: Generated<number>;
  namespace: string;
  id: string;
  sandbox_id: string;
  host: string;
  port: number;
  address: string | null;
  verdict: EgressAttempt["verdict"];
  rule: string | null;
  layer: EgressLayer | null;
  reason: string | null;
  approval_id: string | null;
  bytes_up: number;
  bytes_down: number;
  started_at_ms: number;
  duration_ms: number | null;
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

/** A sandbox that was saved with its memory. */
interface SavedRow {
  id: string;
  namespace: string;
  sandbox_id: string;
  name: string;
  engine: EngineName;
  memory_bytes: number;
  created_at_ms: number;
  created_by: string;
  key_name: string;
  /** JSON, like what follows. */
  sandbox: string;
  policy: string;
  contexts: string;
}

interface TemplateRow {
  id: string;
  namespace: string;
  name: string;
  description: string;
  state: TemplateState;
  step: TemplateStep | null;
  error: string | null;
  /** JSON, like limits, env, network, packages, warm_up and memory. */
  image: string;
  engine: EngineName;
  limits: string;
  env: string;
  network: string;
  packages: string;
  warm_up: string;
  layer_id: string | null;
  bytes: number;
  memory: string;
  why: string | null;
  builder_id: string | null;
  created_at_ms: number;
  created_by: string;
}
