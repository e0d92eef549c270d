import { createHmac, randomBytes } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { secretLimits } from "./limits.ts";

export interface MasterKey {
  /** Tells keys apart, and nothing of the key. */
  id: string;
  bytes: Buffer;
}

function masterKey(bytes: Buffer): MasterKey {
  return { id: createHmac("sha256", bytes).update("caisson vault key id").digest("hex").slice(0, 16), bytes };
}

export function newMasterKey(): MasterKey {
  return masterKey(randomBytes(secretLimits.keyBytes));
}

/** 64 hexadecimal digits each; the first wraps, the others only unwrap. `place`: where they come from, for the error. */
export function parseMasterKeys(text: string, place: string): MasterKey[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const digits = 2 * secretLimits.keyBytes;
  if (words.length === 0 || words.length > secretLimits.keys || !words.every((word) => isHex(word, digits)))
    throw new AppError("invalid", `${place} does not contain a master key`, {
      hint: `a key has ${digits} hexadecimal digits: openssl rand -hex ${secretLimits.keyBytes}`,
    });
  return words.map((word) => masterKey(Buffer.from(word, "hex")));
}

function isHex(word: string, digits: number): boolean {
  return word.length === digits && /^[0-9a-f]+$/i.test(word);
}

export function formatMasterKeys(keys: readonly MasterKey[]): string {
  return keys.map(({ bytes }) => `${bytes.toString("hex")}\n`).join("");
}
