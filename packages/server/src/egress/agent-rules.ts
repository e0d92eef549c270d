import { isDeepStrictEqual } from "node:util";
import type { AllowRule, EgressPolicy } from "../core/egress.ts";
import type { RuleDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import { checkAllowRules } from "./check-policy.ts";
import { covers } from "./match.ts";
import { formatAllowRule } from "./rule-text.ts";

/** What an agent may let out by itself: names that its namespace leaves to agents, on the conditions that stand there. */
export function agentRules(
  permits: readonly AllowRule[],
  drafts: readonly (string | RuleDraft)[],
  most: number,
): AllowRule[] {
  return checkAllowRules(drafts, most).map((asked) => {
    const { host, port, protocol } = asked;
    const permit = permits.find((rule) => covers(rule, asked));
    if (permit === undefined) throw forbidden(asked);
    const rule = { ...permit, host };
    if (!isDeepStrictEqual(asked, { host, port, protocol }) && !isDeepStrictEqual(asked, rule)) throw forbidden(asked);
    return rule;
  });
}

/** Of what an agent has opened, what is still left to agents, on the conditions that stand there now. */
export function stillGranted(policy: EgressPolicy, permits: readonly AllowRule[]): EgressPolicy {
  if (policy.byAgent !== true) return policy;
  const allow = policy.allow.flatMap((rule) => {
    const permit = permits.find((one) => covers(one, rule));
    return permit === undefined ? [] : [{ ...permit, host: rule.host }];
  });
  return { ...policy, allow };
}

/** For the agent that asked: nothing is broken, and somebody can be asked. */
function forbidden(rule: AllowRule): AppError {
  const text = formatAllowRule(rule);
  return new AppError("forbidden", `agents cannot allow ${text}`, {
    hint: "request access, and an operator decides: request_egress, or POST /api/v1/approvals with kind egress",
    details: { policy: "egress", rule: text, list: "agents_may_allow" },
  });
}
