import { AppError } from "../core/errors.ts";

/** What is being read cannot go, and what is going cannot be read. By name, in one process. */
export class InUse {
  readonly #readers = new Map<string, number>();
  readonly #leaving = new Set<string>();

  /** Looks again inside: what was there before the call may have gone until then. */
  async reading<T>(name: string, act: () => Promise<T>): Promise<T> {
    using _ = this.read(name);
    return await act();
  }

  /** Until it is disposed of. */
  read(name: string): Disposable {
    this.#readers.set(name, (this.#readers.get(name) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#readers.get(name) ?? 1) - 1;
        if (left > 0) this.#readers.set(name, left);
        else this.#readers.delete(name);
      },
    };
  }

  isRead(name: string): boolean {
    return this.#readers.has(name);
  }

  /** Whether whoever asks for it now is to be told that it is not there. */
  isLeaving(name: string): boolean {
    return this.#leaving.has(name);
  }

  async leaving<T>(name: string, what: string, act: () => Promise<T>): Promise<T> {
    if (this.isRead(name)) throw new AppError("conflict", `${what} is being read`, { hint: "try again later" });
    this.#leaving.add(name);
    try {
      return await act();
    } finally {
      this.#leaving.delete(name);
    }
  }
}
