/** Places of imports: sandboxes of one namespace that have slow images pulled leave some to others and to administrators (S97). */
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import { isAllowed } from "../core/scope.ts";
import { ociLimits } from "./limits.ts";

export class ImportPlaces {
  #taken = 0;
  /** By namespace, without those of administrators. */
  readonly #ofNamespaces = new Map<string, number>();

  /** Held until it is disposed of. */
  take({ principal }: Caller): Disposable {
    const { atOnce, atOnceOfNamespace, keptForAdministrators } = ociLimits;
    if (isAllowed(principal, "administer")) {
      if (this.#taken >= atOnce) throw full(`${atOnce} images are being imported already`);
      this.#taken++;
      return { [Symbol.dispose]: () => void this.#taken-- };
    }
    const { namespace } = principal;
    if ((this.#ofNamespaces.get(namespace) ?? 0) >= atOnceOfNamespace)
      throw full(`${atOnceOfNamespace} images are being imported for the namespace already`);
    const most = atOnce - keptForAdministrators;
    if (this.#taken >= most) throw full(`${most} images are being imported already`);
    this.#count(namespace, 1);
    return { [Symbol.dispose]: () => this.#count(namespace, -1) };
  }

  #count(namespace: string, more: number): void {
    const count = (this.#ofNamespaces.get(namespace) ?? 0) + more;
    if (count === 0) this.#ofNamespaces.delete(namespace);
    else this.#ofNamespaces.set(namespace, count);
    this.#taken += more;
  }
}

function full(what: string): AppError {
  return new AppError("limit_exceeded", what, { retryAfterMs: 10_000 });
}
