import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, systemClock } from "../lib/clock.ts";

/** What the holder of a link may do: reach one port of one sandbox, in the name of the key that asked for it. */
export interface PortPass {
  keyId: string;
  namespace: string;
  sandboxId: string;
  port: number;
  expiresAtMs: number;
}

/** Signs passes. The key lives as long as the process: after a restart of the daemon links are asked for anew. */
export class PortPasses {
  readonly #key = randomBytes(32);
  readonly #clock: Clock;

  constructor(clock = systemClock) {
    this.#clock = clock;
  }

  sign(pass: PortPass): string {
    const payload = Buffer.from(JSON.stringify(pass));
    return `${payload.toString("base64url")}.${this.#mac(payload).toString("base64url")}`;
  }

  /** Undefined unless it was signed here, for that port of that sandbox, and its time is not over. */
  open(token: string, sandboxId: string, port: number): PortPass | undefined {
    const [payload = "", mac = ""] = token.split(".");
    const signed = Buffer.from(payload, "base64url");
    const given = Buffer.from(mac, "base64url");
    const wanted = this.#mac(signed);
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
    const pass = JSON.parse(signed.toString()) as PortPass;
    const isFor = pass.sandboxId === sandboxId && pass.port === port;
    return isFor && pass.expiresAtMs > this.#clock.wallMs() ? pass : undefined;
  }

  #mac(payload: Buffer): Buffer {
    return createHmac("sha256", this.#key).update(payload).digest();
  }
}
