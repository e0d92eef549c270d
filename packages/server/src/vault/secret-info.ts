import type { SecretInfo, SecretState } from "../core/secret.ts";
import type { BindingRecord, SecretRecord } from "../core/secret-record.ts";
import { showBinding } from "./check-binding.ts";
import { hasValue } from "./value-reader.ts";

export function storedInfo(record: SecretRecord, bindings: readonly BindingRecord[], nowMs: number): SecretInfo {
  const { keyId: _key, wrappedKey: _wrapped, sealed: _sealed, ...shown } = record;
  return { ...shown, origin: "store", state: stateOf(record, nowMs), bindings: bindings.map(showBinding) };
}

function stateOf(record: SecretRecord, nowMs: number): SecretState {
  if (record.usesLeft === 0) return "spent";
  return hasValue(record, nowMs) ? "ready" : "expired";
}

export function environmentInfo(
  namespace: string,
  name: string,
  bindings: readonly BindingRecord[],
  sinceMs: number,
): SecretInfo {
  return {
    namespace,
    name,
    origin: "environment",
    state: "ready",
    version: 0,
    createdAtMs: sinceMs,
    updatedAtMs: sinceMs,
    createdBy: "environment",
    expiresAtMs: null,
    usesLeft: null,
    bindings: bindings.map(showBinding),
  };
}
