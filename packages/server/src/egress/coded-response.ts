/** Answers to requests that a value went out with are looked through for it, and those that cannot be are refused (S86). */
import type { Destination } from "../core/egress.ts";
import { valuesOf } from "../http-over/fields.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";

const plain = new Set(["identity", "chunked", ""]);

/** Compressed, as a rule. Fields are names and values in turn. */
export function isCoded(fields: readonly string[]): boolean {
  return ["content-encoding", "transfer-encoding"]
    .flatMap((name) => valuesOf(fields, name))
    .flatMap((value) => value.split(","))
    .some((coding) => !plain.has(coding.trim().toLowerCase()));
}

/** Says nothing that the host said: the value could be in it. */
export function codedRefusal(destination: Destination): ConnectionRefusal {
  return {
    kind: "denied",
    destination,
    reason: "the host compressed its answer to a request with a secret, which cannot be looked through for it",
    rule: null,
    layer: null,
    ask: "have the host answer uncompressed; the request asked for that (Accept-Encoding: identity)",
  };
}
