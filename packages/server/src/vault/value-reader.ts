import { AppError } from "../core/errors.ts";
import type { SecretRecord, SecretRecords } from "../core/secret-record.ts";
import type { Clock } from "../lib/clock.ts";
import { unseal } from "./envelope.ts";
import type { EnvironmentSecrets } from "./environment-secrets.ts";
import type { KeyRing } from "./key-ring.ts";
import { secretLimits } from "./limits.ts";

export interface ReaderParts {
  records: SecretRecords;
  ring: KeyRing;
  environment: EnvironmentSecrets;
  clock: Pick<Clock, "wallMs">;
}

export interface ReadValue {
  /** 0: not in the store. */
  version: number;
  /** The caller's own copy: wipe it. */
  value: Buffer;
}

/** Undefined when there is none, or no longer. What is in the store comes before what is in the environment. */
export async function readValue(parts: ReaderParts, namespace: string, name: string): Promise<ReadValue | undefined> {
  for (let tries = 0; tries < secretLimits.readTries; tries++) {
    const record = await parts.records.get(namespace, name);
    if (record === undefined) {
      const given = parts.environment.get(namespace)?.get(name);
      return given === undefined ? undefined : { version: 0, value: Buffer.from(given) };
    }
    if (!hasValue(record, parts.clock.wallMs())) return undefined;
    const key = parts.ring.find(record.keyId);
    // Wrapped anew between the read and the look for its key: the next read has the new one.
    if (key !== undefined) return { version: record.version, value: unseal(key, record, record) };
  }
  throw new AppError("unavailable", `the secret ${name} is being encrypted with a new key`, { retryAfterMs: 1_000 });
}

export function hasValue({ keyId, expiresAtMs }: SecretRecord, nowMs: number): boolean {
  return keyId !== "" && (expiresAtMs === null || expiresAtMs > nowMs);
}
