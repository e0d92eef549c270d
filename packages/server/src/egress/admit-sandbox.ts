import type { EgressPolicy } from "../core/egress.ts";
import type { PolicyDraft } from "../core/egress-policies.ts";
import type { ActivePolicies } from "./active-policies.ts";
import { egressLimits } from "./limits.ts";
import { readPolicy } from "./open-policies.ts";

interface Admitted {
  readonly id: string;
  readonly left: Promise<void>;
}

/** What one sandbox asks for on top of what all may reach; refused where nothing leaves. */
export async function readSandboxPolicy(policies: ActivePolicies, network: PolicyDraft): Promise<EgressPolicy> {
  const policy = await readPolicy(network, egressLimits.sandboxRules.max);
  policies.checkEnabled(policy.allow);
  return policy;
}

/** What a fleet has was admitted by it, and stays so between two handles. */
export function admitSandbox(policies: ActivePolicies, { id, left }: Admitted, policy: EgressPolicy): void {
  if (policies.sandbox(id) !== undefined) return;
  policies.admit(id, "default", { sandbox: policy });
  void left.then(() => policies.forget(id));
}

/** One that makes an image reaches what is opened for it alone. */
export function admitAlone(policies: ActivePolicies, { id, left }: Admitted): void {
  policies.admitAlone(id);
  void left.then(() => policies.forget(id));
}
