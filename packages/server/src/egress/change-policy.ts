import type { AllowRule, DenyRule, EgressPolicy, NamespacePolicy, UnknownChoice } from "../core/egress.ts";
import type { NamespaceDraft } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import { parseAllowRule, parseDenyRule } from "./check-rule.ts";
import { formatAllowRule, formatDenyRule } from "./rule-text.ts";

export interface PolicyChange {
  add?: Pick<NamespaceDraft, "allow" | "deny" | "agentsMayAllow">;
  /** In text: every rule of that host, port and protocol, whatever its conditions. */
  remove?: { allow?: readonly string[]; deny?: readonly string[]; agentsMayAllow?: readonly string[] };
  /** Null: as the layers before say. */
  unknown?: UnknownChoice | null;
  bytesPerSecond?: number | null;
}

/** What a policy is asked to become; its rules are still to be checked. A rule that shall go and is not there is a mistake. */
export function changed(policy: EgressPolicy | NamespacePolicy, change: PolicyChange): NamespaceDraft {
  const { add = {}, remove = {} } = change;
  const mayAllow = "agentsMayAllow" in policy ? policy.agentsMayAllow : [];
  return {
    allow: [...without(policy.allow, remove.allow, allowText, formatAllowRule), ...(add.allow ?? [])],
    deny: [...without(policy.deny, remove.deny, denyText, formatDenyRule), ...(add.deny ?? [])],
    agentsMayAllow: [
      ...without(mayAllow, remove.agentsMayAllow, allowText, formatAllowRule),
      ...(add.agentsMayAllow ?? []),
    ],
    ...choose("unknown", change.unknown, policy.unknown),
    ...choose("bytesPerSecond", change.bytesPerSecond, policy.bytesPerSecond),
  };
}

const allowText = (text: string) => formatAllowRule(parseAllowRule(text));
const denyText = (text: string) => formatDenyRule(parseDenyRule(text));

function without<R extends AllowRule | DenyRule>(
  rules: readonly R[],
  removed: readonly string[] = [],
  normal: (text: string) => string,
  format: (rule: R) => string,
): R[] {
  const gone = new Set(removed.map(normal));
  const there = new Set(rules.map(format));
  for (const text of gone) if (!there.has(text)) throw new AppError("not_found", `unknown rule ${text}`);
  return rules.filter((rule) => !gone.has(format(rule)));
}

function choose<N extends string, T>(name: N, asked: T | null | undefined, now: T | undefined): { [K in N]?: T } {
  const value = asked === undefined ? now : (asked ?? undefined);
  return (value === undefined ? {} : { [name]: value }) as { [K in N]?: T };
}
