/**
 * How a value lies in the store: AES-256-GCM under a data key of its own, which a master key wraps (S49). Both are bound to
 * what they are for: a row that was copied to another name, namespace or version cannot be opened.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { SecretRecord } from "../core/secret-record.ts";
import type { MasterKey } from "./master-key.ts";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const dataKeyBytes = 32;

export type SecretVersion = Pick<SecretRecord, "namespace" | "name" | "version">;
export type Envelope = Pick<SecretRecord, "keyId" | "wrappedKey" | "sealed">;

function bindingOf(what: "value" | "data key", { namespace, name, version }: SecretVersion): Buffer {
  return Buffer.from(JSON.stringify(["caisson vault 1", what, namespace, name, version]));
}

/** Nonce, ciphertext, tag; base64. */
function encrypt(key: Buffer, plain: Buffer, aad: Buffer): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(aad);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString("base64");
}

function decrypt(key: Buffer, text: string, aad: Buffer): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length < nonceBytes + tagBytes) throw new Error("too short");
  const nonce = bytes.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(aad);
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  const plain = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } finally {
    plain.fill(0);
  }
}

export function seal(master: MasterKey, secret: SecretVersion, value: Buffer): Envelope {
  const dataKey = randomBytes(dataKeyBytes);
  try {
    return {
      keyId: master.id,
      wrappedKey: encrypt(master.bytes, dataKey, bindingOf("data key", secret)),
      sealed: encrypt(dataKey, value, bindingOf("value", secret)),
    };
  } finally {
    dataKey.fill(0);
  }
}

/** The value; wipe it. */
export function unseal(master: MasterKey, secret: SecretVersion, { wrappedKey, sealed }: Envelope): Buffer {
  const dataKey = unwrap(master, secret, wrappedKey);
  try {
    return decrypt(dataKey, sealed, bindingOf("value", secret));
  } catch {
    throw damaged(secret);
  } finally {
    dataKey.fill(0);
  }
}

/** The same data key under another master key; the value is not touched. */
export function rewrap(from: MasterKey, to: MasterKey, secret: SecretVersion, wrappedKey: string) {
  const dataKey = unwrap(from, secret, wrappedKey);
  try {
    return { keyId: to.id, wrappedKey: encrypt(to.bytes, dataKey, bindingOf("data key", secret)) };
  } finally {
    dataKey.fill(0);
  }
}

function unwrap(master: MasterKey, secret: SecretVersion, wrappedKey: string): Buffer {
  try {
    return decrypt(master.bytes, wrappedKey, bindingOf("data key", secret));
  } catch {
    throw damaged(secret);
  }
}

/** Without a cause: what a cipher says of its input is nobody's business. */
function damaged({ namespace, name }: SecretVersion): AppError {
  return new AppError("internal", `cannot decrypt the secret ${name} of ${namespace}: its record was changed`, {
    hint: "store its value again: caisson vault add",
  });
}
