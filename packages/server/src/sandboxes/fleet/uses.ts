import { AppError } from "../../core/errors.ts";
import { fleetLimits } from "./limits.ts";

/** Counts what is under way, until nothing more may begin. */
export class Uses {
  #count = 0;
  #lastMs = 0;
  #isClosed = false;
  readonly #idle = Promise.withResolvers<void>();

  /** When something last began or ended, by performance.now(). */
  get lastMs(): number {
    return this.#lastMs;
  }

  /** For how long nothing has been under way. */
  get idleMs(): number {
    return this.#count > 0 ? 0 : performance.now() - this.#lastMs;
  }

  checkOpen(): void {
    if (!this.#isClosed) return;
    throw new AppError("unavailable", "the daemon is shutting down", { retryAfterMs: fleetLimits.drainRetryMs });
  }

  begin(): void {
    this.#count++;
    this.#lastMs = performance.now();
  }

  /** Under way until it is disposed of; refused once nothing more may begin. */
  open(): Disposable {
    this.checkOpen();
    this.begin();
    return { [Symbol.dispose]: () => this.end() };
  }

  end(): void {
    this.#count--;
    this.#lastMs = performance.now();
    if (this.#isClosed && this.#count === 0) this.#idle.resolve();
  }

  /** Takes nothing new, and resolves when nothing is under way, or after that long. */
  async close(limitMs: number): Promise<void> {
    this.#isClosed = true;
    if (this.#count === 0) return;
    const timeUp = Promise.withResolvers<void>();
    const timer = setTimeout(timeUp.resolve, limitMs);
    await Promise.race([this.#idle.promise, timeUp.promise]);
    clearTimeout(timer);
  }
}
