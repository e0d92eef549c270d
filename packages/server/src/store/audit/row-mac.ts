import { createHmac, createPrivateKey, createPublicKey, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";

/** What verifies an audit log: the public key of who signed and, of one's own log, the key of its rows. */
export interface AuditKey {
  /** PEM. */
  publicKey: string;
  /** Of the MACs; only the owner of the signing key has it. */
  rowKey?: Uint8Array;
}

const purpose = "caisson audit row 1";
const keyBytes = 32;

/** Derives the key of rows (HKDF-SHA256), so that it is stored nowhere. */
export function rowKeyOf(signingKey: KeyObject): Uint8Array {
  const { d = "" } = signingKey.export({ format: "jwk" });
  return new Uint8Array(hkdfSync("sha256", Buffer.from(d, "base64url"), "", purpose, keyBytes));
}

/** From PEM, public or private. */
export function readAuditKey(pem: string): AuditKey {
  const publicKey = createPublicKey(pem).export({ type: "spki", format: "pem" }).toString();
  return pem.includes("PRIVATE KEY") ? { publicKey, rowKey: rowKeyOf(createPrivateKey(pem)) } : { publicKey };
}

/** Says that this daemon wrote a row at this position: HMAC-SHA256 over both, in base64. */
export class RowMac {
  readonly #key: KeyObject;

  constructor(rowKey: Uint8Array) {
    this.#key = createSecretKey(rowKey);
  }

  of(position: number, hash: string): string {
    return createHmac("sha256", this.#key).update(`${position}\n${hash}`).digest("base64");
  }
}
