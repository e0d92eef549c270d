import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { constants } from "node:fs";
import { link, mkdir, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import type { Signer } from "../core/manifest.ts";
import { artifactLimits } from "../sandboxes/limits.ts";
import { type AuditKey, rowKeyOf } from "./audit/row-mac.ts";

async function readKey(path: string): Promise<KeyObject | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { mode, uid, size } = await file.stat();
    if ((mode & 0o077) !== 0 || uid !== process.geteuid?.())
      throw new AppError("forbidden", `other users can read or write the signing key ${path}: it is not used`, {
        hint: "remove it, and inform everyone who verifies signatures that the key changes",
      });
    if (size > artifactLimits.keyBytes) throw new AppError("invalid", `${path} is not a signing key`);
    const key = createPrivateKey(await file.readFile("utf8"));
    if (key.asymmetricKeyType !== "ed25519") throw new AppError("invalid", `${path} is not an Ed25519 key`);
    return key;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Whole and durable before it has its name; of two that make one at the same time the first wins. */
async function makeKey(path: string): Promise<void> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  {
    await using file = await open(temporary, "wx", 0o600);
    await file.writeFile(privateKey.export({ type: "pkcs8", format: "pem" }));
    await file.sync();
  }
  try {
    await link(temporary, path);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  } finally {
    await unlink(temporary);
  }
}

/** Signs, and knows rows of the audit log as its own. */
export type SigningKey = Signer & Required<AuditKey>;

/** The Ed25519 key of a data folder, made at first use. */
export async function openSigner(home: string): Promise<SigningKey> {
  const path = join(home, "signing-key.pem");
  await mkdir(home, { recursive: true, mode: 0o711 });
  if ((await readKey(path)) === undefined) await makeKey(path);
  const key = await readKey(path);
  if (key === undefined) throw new AppError("unavailable", `the signing key ${path} is missing`);
  return {
    sign: (payload) => sign(null, payload, key),
    rowKey: rowKeyOf(key),
    publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString(),
  };
}
