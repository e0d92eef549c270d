import type { AuditEntry } from "../../packages/server/src/core/audit.ts";
import type { SandboxRecord } from "../../packages/server/src/core/sandbox-record.ts";

/** In the order in which they are copied. */
export const databaseFiles = ["", "-wal", "-shm"].map((end) => `caisson.db${end}`);

export function auditEntry(more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    type: "sandbox.created",
    namespace: "default",
    actor: "key-1",
    sandboxId: null,
    requestId: null,
    detail: {},
    ...more,
  };
}

export function sandboxRecord(id: string, more: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    id,
    namespace: "default",
    status: "running",
    engine: "container",
    image: "host",
    layerId: null,
    sessionKey: null,
    limits: { memoryBytes: 512, cpus: 0.5, cpuShares: 1024, processes: 64, storageBytes: 1024 },
    env: { NAME: 'va"lue' },
    labels: {},
    description: "",
    createdAtMs: 1_000,
    lastUsedAtMs: 1_000,
    idleTimeoutMs: 60_000,
    expiresAtMs: 100_000,
    pausedAtMs: null,
    origin: "pool",
    failure: null,
    createdBy: "key-1",
    outputFolder: null,
    keepArtifactsMs: 0,
    template: null,
    serverId: null,
    ...more,
  };
}
