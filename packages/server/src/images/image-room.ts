/** How many images there may be, so that what sandboxes ask for leaves room to other namespaces and to administrators (S97). */
import { AppError } from "../core/errors.ts";
import type { ImageRecord } from "../core/image-record.ts";
import type { Caller } from "../core/principal.ts";
import { isAllowed } from "../core/scope.ts";
import { buildLimits, firstUseLimits } from "./limits.ts";

export class ImageRoom {
  /** Namespaces of images that sandboxes asked for, by id. */
  readonly #namespaces = new Map<string, string>();

  /** `coming` are about to have a record. */
  check({ principal }: Caller, records: readonly ImageRecord[], coming: readonly { caller: Caller }[]): void {
    const count = records.length + coming.length;
    const kept = isAllowed(principal, "administer") ? 0 : firstUseLimits.keptForAdministrators;
    if (count >= buildLimits.images - kept) throw full(`there are ${count} images already`);
    if (kept === 0) return;
    const { namespace } = principal;
    const isOurs = ({ caller: other }: { caller: Caller }) =>
      other.principal.namespace === namespace && !isAllowed(other.principal, "administer");
    const made = records.filter(({ id, state }) => state !== "failed" && this.#namespaces.get(id) === namespace);
    if (made.length + coming.filter(isOurs).length >= firstUseLimits.imagesOfNamespace)
      throw full(`the namespace has had ${firstUseLimits.imagesOfNamespace} images made already`);
  }

  add({ principal }: Caller, id: string): void {
    if (!isAllowed(principal, "administer")) this.#namespaces.set(id, principal.namespace);
  }

  forget(id: string): void {
    this.#namespaces.delete(id);
  }
}

function full(what: string): AppError {
  return new AppError("limit_exceeded", what, {
    hint: "an administrator can delete unused images: caisson image rm IMAGE",
  });
}
