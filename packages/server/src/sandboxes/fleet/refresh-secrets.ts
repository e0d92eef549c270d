import { AppError } from "../../core/errors.ts";
import type { CreationParts } from "./creation.ts";
import { fleetLimits } from "./limits.ts";
import { eachOf } from "./slots.ts";

type RefreshParts = Pick<CreationParts, "provisioner" | "registry" | "lifecycle" | "onError">;

/** Sandboxes of the namespace that run get and lose what they must. */
export async function refreshSecrets(
  { provisioner, registry, lifecycle, onError }: RefreshParts,
  namespace: string,
): Promise<void> {
  provisioner.changed(namespace);
  const own = [...registry.all].filter(({ record }) => record.namespace === namespace);
  const failed = await eachOf(own, fleetLimits.recoveringAtOnce, (member) => lifecycle.refresh(member));
  for (const error of failed) onError(error);
  if (failed.length === 0) return;
  throw new AppError("unavailable", `the change failed in ${failed.length} sandboxes of the namespace`, {
    hint: "all others have it; stop the sandboxes that do not respond",
    cause: failed[0],
  });
}
