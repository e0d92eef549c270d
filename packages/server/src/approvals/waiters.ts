import { AppError } from "../core/errors.ts";
import { approvalLimits } from "./limits.ts";

/** Callers that wait for answers: so many in all, and so many of a namespace. */
export class Waiters {
  readonly #byNamespace = new Map<string, number>();
  #all = 0;

  async with<T>(namespace: string, wait: () => Promise<T>): Promise<T> {
    const own = this.#byNamespace.get(namespace) ?? 0;
    if (this.#all >= approvalLimits.waiters || own >= approvalLimits.waitersPerNamespace)
      throw new AppError("limit_exceeded", "too many callers wait for decisions", { retryAfterMs: 1_000 });
    this.#all++;
    this.#byNamespace.set(namespace, own + 1);
    try {
      return await wait();
    } finally {
      this.#all--;
      const left = (this.#byNamespace.get(namespace) ?? 1) - 1;
      if (left > 0) this.#byNamespace.set(namespace, left);
      else this.#byNamespace.delete(namespace);
    }
  }
}
