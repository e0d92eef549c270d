import { hash, randomBytes } from "node:crypto";
import { identityLimits } from "../http/limits.ts";

/** Makes a key recognisable to people and to scanners for leaked secrets. */
const prefix = "csn_";

export function newKeyToken(): string {
  return prefix + randomBytes(identityLimits.keyBytes).toString("base64url");
}

/** What is stored and looked up in place of a key. */
export function hashToken(token: string): string {
  return hash("sha256", token);
}

/** Whether it can be a key at all; what cannot is never looked up. */
export function looksLikeKey(token: string): boolean {
  return /^csn_[A-Za-z0-9_-]{43}$/.test(token);
}
