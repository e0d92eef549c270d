import type { ApiKeys } from "./api-key.ts";
import type { Audit } from "./audit.ts";
import type { IdempotencyRecords } from "./idempotency.ts";
import type { SandboxRecords } from "./sandbox-record.ts";

/** All that outlives the daemon, but files of sandboxes. One contract suite runs over every implementation. */
export interface Store extends AsyncDisposable {
  readonly sandboxes: SandboxRecords;
  readonly keys: ApiKeys;
  readonly audit: Audit;
  readonly idempotency: IdempotencyRecords;
}
