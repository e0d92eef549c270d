/** Pages and searches on behalf of sandboxes. */
import { decide } from "../egress/decide.ts";
import { readProviders } from "../web/search/providers.ts";
import { Web } from "../web/web.ts";
import type { Egress } from "./egress.ts";
import type { Sandboxes } from "./sandboxes.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Stores } from "./store.ts";

type Below = Pick<Stores, "store"> & Pick<Egress, "inForce" | "approvals"> & Pick<Sandboxes, "caisson" | "fleet">;

export function openWeb(
  { store, inForce, approvals, caisson, fleet }: Below,
  { search = [], browserImage = "browser", clock }: Pick<ServiceParts, "search" | "browserImage" | "clock">,
): Web {
  return new Web({
    fleet,
    errand: (id, errand) => caisson.errand(id, errand),
    providers: readProviders(search),
    browser: {
      image: browserImage,
      fleet,
      attempts: store.attempts,
      approvals,
      verdictOf: (id, destination) => decide(inForce.policyOf(id), destination).action,
    },
    clock,
  });
}
