import type { ApiKeys } from "./api-key.ts";
import type { ApprovalRecords } from "./approval.ts";
import type { Audit } from "./audit.ts";
import type { Batch } from "./batch.ts";
import type { CheckpointRecords } from "./checkpoint.ts";
import type { AttemptRecords, PolicyRecords } from "./egress-policies.ts";
import type { IdempotencyRecords } from "./idempotency.ts";
import type { ImageRecords } from "./image-record.ts";
import type { KeptArtifactsRecords } from "./kept-artifacts.ts";
import type { PackageRecords } from "./package.ts";
import type { PortRecords } from "./port.ts";
import type { RunRecords } from "./run-record.ts";
import type { SandboxRecords } from "./sandbox-record.ts";
import type { SecretRecords } from "./secret-record.ts";
import type { SkillRecords } from "./skill.ts";
import type { SnapshotRecords } from "./snapshot.ts";
import type { TemplateRecords } from "./template.ts";
import type { Webhooks } from "./webhook.ts";

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
