import type { AllowRule, EgressPolicy } from "../core/egress.ts";
import type { NetworkOptions, PolicyDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import { ActivePolicies } from "./active-policies.ts";
import { checkAllowRules, checkPolicy } from "./check-policy.ts";
import { egressLimits } from "./limits.ts";
import { loadPublicSuffixes } from "./public-suffix.ts";

/** As somebody who runs the place has it: nothing is left to agents, and every rule may be made. */
export async function readPolicy(draft: PolicyDraft, mostRules: number): Promise<EgressPolicy> {
  if ((draft.allow ?? []).length > 0) await loadPublicSuffixes();
  return checkPolicy(draft, mostRules);
}

/** Names that one run may reach. */
export async function readRules(domains: readonly string[]): Promise<AllowRule[]> {
  await loadPublicSuffixes();
  return checkAllowRules(domains, egressLimits.runRules);
}

/** Policies that begin with what is configured for every sandbox. */
export async function openPolicies({
  enabled = true,
  dnsServers: _servers,
  caFile: _file,
  ...draft
}: NetworkOptions = {}): Promise<ActivePolicies> {
  const configuration = await readPolicy(draft, egressLimits.namespaceRules).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    const { code, message, hint } = error;
    throw new AppError(code, `allowed_domains, network.deny: ${message}`, hint === undefined ? {} : { hint });
  });
  return new ActivePolicies({ enabled, configuration });
}
