const pool = Buffer.alloc(4096);
let at = pool.length;

/** A name that nobody else has, for things and no secrets: random bytes are fetched for many at once. */
export function randomId(bytes: number, encoding: "hex" | "base64url"): string {
  if (at + bytes > pool.length) {
    crypto.getRandomValues(pool);
    at = 0;
  }
  at += bytes;
  return pool.toString(encoding, at - bytes, at);
}
