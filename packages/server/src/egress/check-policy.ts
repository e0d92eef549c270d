/** Policies as somebody gave them, in their one form or refused. */
import type { AllowRule, DenyRule, EgressPolicy, NamespacePolicy } from "../core/egress.ts";
import type { NamespaceDraft, PolicyDraft, RuleDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import { checkAllowRule, checkDenyRule, checkWhole, parseAllowRule, parseDenyRule } from "./check-rule.ts";
import { egressLimits } from "./limits.ts";

/** At most so many allow rules. */
export function checkPolicy(draft: PolicyDraft, mostRules: number): EgressPolicy {
  const { unknown, bytesPerSecond } = draft;
  return {
    allow: checkAllowRules(draft.allow ?? [], mostRules),
    deny: checkDenyRules(draft.deny ?? []),
    ...(unknown === undefined ? {} : { unknown }),
    ...(bytesPerSecond === undefined
      ? {}
      : { bytesPerSecond: checkWhole(bytesPerSecond, egressLimits.bytesPerSecond, "bytes a second") }),
  };
}

export function checkNamespacePolicy(draft: NamespaceDraft): NamespacePolicy {
  const { namespaceRules } = egressLimits;
  return {
    ...checkPolicy(draft, namespaceRules),
    agentsMayAllow: checkAllowRules(draft.agentsMayAllow ?? [], namespaceRules),
  };
}

/** Without those that are there twice. */
export function checkAllowRules(drafts: readonly (string | RuleDraft)[], most: number): AllowRule[] {
  const rules = drafts.map((draft) => (typeof draft === "string" ? parseAllowRule(draft) : checkAllowRule(draft)));
  return atMost(unique(rules), most, "allow rules");
}

function checkDenyRules(drafts: readonly (string | DenyRule)[]): DenyRule[] {
  const rules = drafts.map((draft) => (typeof draft === "string" ? parseDenyRule(draft) : checkDenyRule(draft)));
  return atMost(unique(rules), egressLimits.denyRules, "deny rules");
}

/** Rules are in one form: equal ones have equal JSON. */
function unique<T extends object>(rules: readonly T[]): T[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}

function atMost<T>(rules: T[], most: number, what: string): T[] {
  if (rules.length <= most) return rules;
  throw new AppError("invalid", `too many ${what}: ${rules.length} (limit: ${most})`, {
    details: { limit: most },
  });
}
