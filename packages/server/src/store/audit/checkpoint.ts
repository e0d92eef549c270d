import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Signer } from "../../core/manifest.ts";
import { mapRows } from "../columns.ts";
import { canonical } from "./canonical.ts";

/**
 * Says under a signature what the hash at a sequence is. In the database: now and then a `checkpoint`, and one `anchor`
 * where rows before it were pruned. Outside of it: the `head`.
 */
export interface Checkpoint {
  kind: "checkpoint" | "anchor" | "head";
  sequence: number;
  hash: string;
  atMs: number;
  /** The sequence of the checkpoint before it, so that none can be taken away unseen. */
  previous: number;
  /** Which key signed. */
  keyId: string;
  /** Ed25519, in base64. */
  signature: string;
}

const mapping = mapRows<Checkpoint>();
export const toRow = mapping.toRow;
/** Of a row that anybody may have edited: its signature says what it is worth. */
export const fromRow = (row: Record<string, unknown>) => mapping.toRecord(row as never);

/** The key signs other things too: no signature of one can pass for another. */
function payloadOf({ kind, sequence, hash, atMs, previous }: Omit<Checkpoint, "keyId" | "signature">): Buffer {
  return Buffer.from(`caisson audit 1\n${canonical({ kind, sequence, hash, atMs, previous })}`);
}

function keyIdOf(key: KeyObject): string {
  const der = key.export({ type: "spki", format: "der" });
  return createHash("sha256").update(der).digest("hex").slice(0, 16);
}

export function signCheckpoint(signer: Signer, body: Omit<Checkpoint, "keyId" | "signature">): Checkpoint {
  const keyId = keyIdOf(createPublicKey(signer.publicKey));
  return { ...body, keyId, signature: signer.sign(payloadOf(body)).toString("base64") };
}

/** The public keys of signers, by their id. */
export type KnownKeys = ReadonlyMap<string, KeyObject>;

/** From PEM, public or private. */
export function readKeys(pems: readonly string[]): KnownKeys {
  const keys = pems.map((pem) => createPublicKey(pem));
  return new Map(keys.map((key) => [keyIdOf(key), key]));
}

/** Undefined when the signature is good, or what is wrong with it. */
export function signatureProblem(checkpoint: Checkpoint, keys: KnownKeys): string | undefined {
  const key = keys.get(checkpoint.keyId);
  if (key === undefined) return `is signed by a key that is not known (${checkpoint.keyId})`;
  const good = verify(null, payloadOf(checkpoint), key, Buffer.from(checkpoint.signature, "base64"));
  return good ? undefined : "has a signature that does not match it";
}
