import { randomBytes } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { seal } from "./envelope.ts";
import { type ReaderParts, readValue } from "./value-reader.ts";

/** No tenant's name begins so: keys of the daemon's own lie beside secrets, and are wrapped and rotated with them. */
export const keysNamespace = " keys";

export async function newKey({ records, ring, clock }: ReaderParts, name: string): Promise<Buffer> {
  const key = randomBytes(32);
  const place = { namespace: keysNamespace, name, version: 1 };
  const nowMs = clock.wallMs();
  const times = { createdAtMs: nowMs, updatedAtMs: nowMs, createdBy: "system", expiresAtMs: null, usesLeft: null };
  await records.put({ ...place, ...times, ...seal(ring.primary, place, key) });
  return key;
}

export async function readKey(parts: ReaderParts, name: string): Promise<Buffer> {
  const read = await readValue(parts, keysNamespace, name);
  if (read === undefined) throw new AppError("unavailable", `the key ${name} is missing`);
  return read.value;
}
