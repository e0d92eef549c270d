import type { ApiKeys } from "../core/api-key.ts";
import type { ApprovalRecords } from "../core/approval.ts";
import type { Audit } from "../core/audit.ts";
import type { Batch } from "../core/batch.ts";
import type { CheckpointRecords } from "../core/checkpoint.ts";
import type { AttemptRecords, PolicyRecords } from "../core/egress-policies.ts";
import type { IdempotencyRecords } from "../core/idempotency.ts";
import type { ImageRecords } from "../core/image-record.ts";
import type { KeptArtifactsRecords } from "../core/kept-artifacts.ts";
import type { PackageRecords } from "../core/package.ts";
import type { PortRecords } from "../core/port.ts";
import type { RunRecords } from "../core/run-record.ts";
import type { SandboxRecords } from "../core/sandbox-record.ts";
import type { SecretRecords } from "../core/secret-record.ts";
import type { ServerRecords } from "../core/server.ts";
import type { SkillRecords } from "../core/skill.ts";
import type { SnapshotRecords } from "../core/snapshot.ts";
import type { TemplateRecords } from "../core/template.ts";
import type { Webhooks } from "../core/webhook.ts";

export interface RecordStore {
  readonly sandboxes: SandboxRecords;
  readonly keys: ApiKeys;
  readonly snapshots: SnapshotRecords;
  readonly skills: SkillRecords;
  readonly artifacts: KeptArtifactsRecords;
  readonly secrets: SecretRecords;
  readonly webhooks: Webhooks;
  readonly approvals: ApprovalRecords;
  readonly ports: PortRecords;
  readonly policies: PolicyRecords;
  readonly attempts: AttemptRecords;
  readonly packages: PackageRecords;
  readonly images: ImageRecords;
  readonly templates: TemplateRecords;
  readonly servers: ServerRecords;
  readonly checkpoints: CheckpointRecords;
  readonly runs: RunRecords;
  readonly idempotency: IdempotencyRecords;
}

/** All that outlives the daemon, but files of sandboxes. One contract suite runs over every implementation. */
export interface Store extends RecordStore, AsyncDisposable {
  readonly audit: Audit;
  /** Begins changes that are committed together, in one request to the store. */
  batch(): Batch;
  /** Writes a row that means nothing; rejects with what keeps it from being written. */
  checkWritable(): Promise<void>;
}
