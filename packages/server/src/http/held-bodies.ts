import { AppError } from "../core/errors.ts";
import type { Principal } from "../core/principal.ts";
import { Turn } from "../lib/turn.ts";
import { httpLimits } from "./limits.ts";

type Owner = Pick<Principal, "id" | "namespace">;

class Counts {
  readonly #bytes = new Map<string, number>();

  of(name: string): number {
    return this.#bytes.get(name) ?? 0;
  }

  change(name: string, bytes: number): void {
    const left = this.of(name) + bytes;
    if (left > 0) this.#bytes.set(name, left);
    else this.#bytes.delete(name);
  }
}

/** JSON bodies that are read or worked on: the memory that a key and a namespace may take, and one at a time for the parser (S94). */
export class HeldBodies {
  readonly #ofKeys = new Counts();
  readonly #ofNamespaces = new Counts();
  readonly #parsing = new Turn();
  #all = 0;

  /**
   * Counts so many bytes more until they are released; refuses past the key's share, and past half of what other namespaces leave:
   * however many of them hold what they may, there is room for one more.
   */
  add({ id, namespace }: Owner, bytes: number): void {
    const before = this.#ofNamespaces.of(namespace);
    const share = (httpLimits.heldBytes - (this.#all - before)) / 2;
    if (this.#ofKeys.of(id) + bytes > httpLimits.heldBytesPerKey || before + bytes > share)
      throw new AppError("limit_exceeded", "too many large requests at once", {
        hint: "wait for the responses to earlier requests",
        retryAfterMs: 1_000,
      });
    this.#count({ id, namespace }, bytes);
  }

  release(owner: Owner, bytes: number): void {
    this.#count(owner, -bytes);
  }

  #count({ id, namespace }: Owner, bytes: number): void {
    this.#ofKeys.change(id, bytes);
    this.#ofNamespaces.change(namespace, bytes);
    this.#all += bytes;
  }

  /** Resolves when a large body may be parsed: other requests get their turn between two of them. */
  turn(): Promise<void> {
    return this.#parsing.take(() => new Promise((resolve) => setImmediate(resolve)));
  }
}
