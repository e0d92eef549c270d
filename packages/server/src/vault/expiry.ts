import type { SecretRecord, SecretRecords } from "../core/secret-record.ts";
import type { Clock } from "../lib/clock.ts";
import { secretLimits } from "./limits.ts";

export interface ExpiryParts {
  records: Pick<SecretRecords, "expired" | "nextExpiry">;
  clock: Pick<Clock, "wallMs">;
  /** Destroys the value, and sees to it that sandboxes lose it. */
  expire: (record: SecretRecord) => Promise<void>;
  onError: (error: unknown) => void;
}

/** Ends secrets when their time comes (SEC-08). */
export class Expiry implements Disposable {
  readonly #parts: ExpiryParts;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(parts: ExpiryParts) {
    this.#parts = parts;
  }

  /** After a change of what expires when. */
  async look(): Promise<void> {
    const { records, clock } = this.#parts;
    const next = await records.nextExpiry();
    clearTimeout(this.#timer);
    if (this.#closed || next === undefined) return;
    const waitMs = Math.min(Math.max(1, next - clock.wallMs()), secretLimits.lookMs);
    this.#timer = setTimeout(() => void this.#act(), waitMs).unref();
  }

  async #act(): Promise<void> {
    const { records, clock, expire, onError } = this.#parts;
    try {
      for (const record of await records.expired(clock.wallMs())) await expire(record);
      await this.look();
    } catch (error) {
      onError(error);
      if (!this.#closed) this.#timer = setTimeout(() => void this.#act(), secretLimits.lookMs).unref();
    }
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }
}
