import type { Kysely } from "kysely";
import type { Clock } from "../lib/clock.ts";
import { StoredApiKeys } from "./api-keys.ts";
import { StoredApprovals } from "./approval-records.ts";
import { StoredCheckpoints } from "./checkpoint-records.ts";
import { StoredAttempts } from "./egress-attempts.ts";
import { StoredPolicies } from "./egress-policies.ts";
import { StoredIdempotency } from "./idempotency-records.ts";
import { StoredImages } from "./image-records.ts";
import { StoredKeptArtifacts } from "./kept-artifacts-records.ts";
import { StoredPackages } from "./package-records.ts";
import { StoredPorts } from "./port-records.ts";
import { StoredRuns } from "./run-records.ts";
import { StoredSandboxes } from "./sandbox-records.ts";
import type { Schema } from "./schema.ts";
import { StoredSecrets } from "./secret-records.ts";
import { StoredServers } from "./server-records.ts";
import { StoredSkills } from "./skill-records.ts";
import { StoredSnapshots } from "./snapshot-records.ts";
import type { RecordStore } from "./store.ts";
import { StoredTemplates } from "./template-records.ts";
import { StoredWebhooks } from "./webhooks.ts";

/** The records of the product, in plain SQL through Kysely. */
export function openRecords(db: Kysely<Schema>, clock: Clock): RecordStore {
  return {
    sandboxes: new StoredSandboxes(db),
    keys: new StoredApiKeys(db),
    snapshots: new StoredSnapshots(db),
    skills: new StoredSkills(db),
    artifacts: new StoredKeptArtifacts(db),
    secrets: new StoredSecrets(db),
    webhooks: new StoredWebhooks(db),
    approvals: new StoredApprovals(db),
    ports: new StoredPorts(db),
    policies: new StoredPolicies(db),
    attempts: new StoredAttempts(db),
    packages: new StoredPackages(db),
    images: new StoredImages(db),
    templates: new StoredTemplates(db),
    servers: new StoredServers(db),
    checkpoints: new StoredCheckpoints(db),
    runs: new StoredRuns(db),
    idempotency: new StoredIdempotency(db, clock),
  };
}
