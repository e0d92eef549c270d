import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { httpLimits } from "../http/limits.ts";
import { type Clock, systemClock } from "../lib/clock.ts";

/** What the holder of a URL may do: one method on one path of one sandbox. */
export interface SignedPass {
  keyId: string;
  namespace: string;
  sandboxId: string;
  method: "GET" | "PUT";
  path: string;
  expiresAtMs: number;
  mostBytes: number | null;
  /** Makes it one of its kind. */
  nonce: string;
}

/**
 * Signs URLs, and lets each be used once. The key lives as long as the process: what was used cannot be used again after
 * a restart, since nothing that was signed before it holds.
 */
export class UrlSigner {
  readonly #key = randomBytes(32);
  readonly #clock: Clock;
  /** By nonce, with the time until which they must be remembered. */
  readonly #used = new Map<string, number>();

  constructor(clock = systemClock) {
    this.#clock = clock;
  }

  sign(pass: Omit<SignedPass, "nonce">): string {
    const payload = Buffer.from(JSON.stringify({ ...pass, nonce: randomBytes(12).toString("base64url") }));
    return `${payload.toString("base64url")}.${this.#mac(payload).toString("base64url")}`;
  }

  /** What it was signed for, if this process signed it, for this method, and its time is not over. */
  open(token: string, method: SignedPass["method"]): SignedPass {
    const [payload = "", mac = ""] = token.split(".");
    const signed = Buffer.from(payload, "base64url");
    const given = Buffer.from(mac, "base64url");
    const wanted = this.#mac(signed);
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw refused();
    const pass = JSON.parse(signed.toString()) as SignedPass;
    const isOver = pass.expiresAtMs <= this.#clock.wallMs();
    if (pass.method !== method || isOver || this.#used.has(pass.nonce)) throw refused();
    return pass;
  }

  use(pass: SignedPass): void {
    if (this.#used.has(pass.nonce)) throw refused();
    this.#forgetExpired();
    if (this.#used.size >= httpLimits.signedUrlsOpen)
      throw new AppError("limit_exceeded", "too many signed URLs are in use", { retryAfterMs: 60_000 });
    this.#used.set(pass.nonce, pass.expiresAtMs);
  }

  giveBack(pass: SignedPass): void {
    this.#used.delete(pass.nonce);
  }

  #forgetExpired(): void {
    if (this.#used.size < httpLimits.signedUrlsOpen) return;
    for (const [nonce, untilMs] of this.#used) if (untilMs <= this.#clock.wallMs()) this.#used.delete(nonce);
  }

  #mac(payload: Buffer): Buffer {
    return createHmac("sha256", this.#key).update(payload).digest();
  }
}

function refused(): AppError {
  return new AppError("forbidden", "this signed URL is invalid, expired or already used");
}
