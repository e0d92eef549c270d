import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { AuditValue } from "../../core/audit.ts";
import type { Signer } from "../../core/manifest.ts";
import { mapRows } from "../columns.ts";
import { canonical } from "./canonical.ts";

interface Signed {
  /** Which key signed. */
  keyId: string;
  /** Ed25519, in base64. */
  signature: string;
}

interface CheckpointBody {
  kind: "checkpoint" | "anchor";
  namespace: string;
  sequence: number;
  hash: string;
  atMs: number;
  /** The sequence of the checkpoint before it, so that none can be taken away unseen; 0 of the first. */
  previous: number;
}

/**
 * Says under a signature what the hash at a sequence of a chain is: now and then a `checkpoint`, and one `anchor` where rows
 * before it were pruned.
 */
export interface Checkpoint extends CheckpointBody, Signed {}

/** Where a chain ends. */
export interface ChainEnd {
  namespace: string;
  sequence: number;
  hash: string;
  /** The sequence of its newest checkpoint; 0 while it has none. */
  previous: number;
}

interface HeadBody {
  atMs: number;
  chains: ChainEnd[];
}

/** Names the newest signed row of every chain, outside the database: a chain that disappears whole is missed. */
export interface AuditHead extends HeadBody, Signed {}

const mapping = mapRows<Checkpoint>();
export const toRow = mapping.toRow;
/** Of a row that anybody may have edited: its signature says what it is worth. */
export const fromRow = (row: Record<string, unknown>) => mapping.toRecord(row as never);

/** The key signs other things too: no signature of one can pass for another. */
function checkpointPayload({ kind, namespace, sequence, hash, atMs, previous }: CheckpointBody): Buffer {
  return Buffer.from(`caisson audit 2\n${canonical({ kind, namespace, sequence, hash, atMs, previous })}`);
}

function headPayload({ atMs, chains }: HeadBody): Buffer {
  return Buffer.from(`caisson audit head 2\n${canonical({ atMs, chains } as unknown as AuditValue)}`);
}

function keyIdOf(key: KeyObject): string {
  const der = key.export({ type: "spki", format: "der" });
  return createHash("sha256").update(der).digest("hex").slice(0, 16);
}

function sign<B>(signer: Signer, body: B, payload: Buffer): B & Signed {
  const keyId = keyIdOf(createPublicKey(signer.publicKey));
  return { ...body, keyId, signature: signer.sign(payload).toString("base64") };
}

export function signCheckpoint(signer: Signer, body: CheckpointBody): Checkpoint {
  return sign(signer, body, checkpointPayload(body));
}

export function signHead(signer: Signer, body: HeadBody): AuditHead {
  return sign(signer, body, headPayload(body));
}

/** The public keys of signers, by their id. */
export type KnownKeys = ReadonlyMap<string, KeyObject>;

/** From PEM, public or private. */
export function readKeys(pems: readonly string[]): KnownKeys {
  const keys = pems.map((pem) => createPublicKey(pem));
  return new Map(keys.map((key) => [keyIdOf(key), key]));
}

/** Undefined when the signature is good, or what is wrong with it. */
export function signatureProblem(signed: Checkpoint | AuditHead, keys: KnownKeys): string | undefined {
  const key = keys.get(signed.keyId);
  if (key === undefined) return `is signed by a key that is not known (${signed.keyId})`;
  return isSignedBy(signed, key) ? undefined : "has a signature that does not match it";
}

function isSignedBy(signed: Checkpoint | AuditHead, key: KeyObject): boolean {
  const payload = "chains" in signed ? headPayload(signed) : checkpointPayload(signed);
  return verify(null, payload, key, Buffer.from(signed.signature, "base64"));
}
