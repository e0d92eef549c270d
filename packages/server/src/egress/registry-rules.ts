import { isIP } from "node:net";
import type { AllowRule } from "../core/egress.ts";
import type { RuleDraft } from "../core/egress-policies.ts";
import type { RegistryReach } from "../core/layer-builder.ts";
import { defined } from "../lib/defined.ts";
import { checkAllowRule } from "./check-rule.ts";
import type { World } from "./connect.ts";
import { egressLimits } from "./limits.ts";

const reads = ["GET", "HEAD"];

/**
 * Rules for hosts that this machine's own configuration names: they may lead wherever they lead from here now, private
 * networks and this machine included, and nowhere private that they lead to later. To keep files, or to let only reading
 * requests pass, TLS is looked into.
 */
export function registryRules(
  { resolve }: Pick<World, "resolve">,
  hosts: readonly RuleDraft[],
  { keepsFiles, readsOnly = false, delivered }: RegistryReach,
): Promise<AllowRule[]> {
  return Promise.all(
    hosts.map(async (draft) => {
      // An address is its own; that a name leads nowhere is told when it is dialled.
      const addresses = isIP(draft.host) === 0 ? await resolve(draft.host).catch(() => []) : [];
      const ranges = addresses
        .slice(0, egressLimits.ranges)
        .map((address) => `${address}/${address.includes(":") ? 128 : 32}`);
      const rule = checkAllowRule({ ...draft, ranges });
      if (rule.protocol === "tcp" || (!keepsFiles && !readsOnly)) return rule;
      return {
        ...rule,
        ...(keepsFiles ? { keepsFiles } : {}),
        ...(readsOnly ? { methods: reads } : {}),
        ...defined({ delivered }),
        ...(rule.protocol === "tls" ? { inspect: true } : {}),
      };
    }),
  );
}
