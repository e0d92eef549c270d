import { createHash } from "node:crypto";
import type { EgressPolicy, NamespacePolicy } from "../core/egress.ts";
import { egressLimits } from "./limits.ts";
import { formatAllowRule, formatDenyRule } from "./rule-text.ts";

export type Rules = EgressPolicy | NamespacePolicy;

function textsOf(policy: Rules) {
  return {
    allow: policy.allow.map(formatAllowRule),
    deny: policy.deny.map(formatDenyRule),
    agents_may_allow: "agentsMayAllow" in policy ? policy.agentsMayAllow.map(formatAllowRule) : [],
  };
}

/** What came and went, as far as an entry can hold it, and a hash of all that holds now. */
export function describeChange(before: Rules, after: Rules) {
  const [old, now] = [textsOf(before), textsOf(after)];
  const names = ["allow", "deny", "agents_may_allow"] as const;
  const shown = (texts: readonly string[]) => texts.slice(0, egressLimits.notedRules);
  const lists = names.flatMap((name) => [
    [`${name}_added`, shown(difference(now[name], old[name]))] as const,
    [`${name}_removed`, shown(difference(old[name], now[name]))] as const,
  ]);
  return {
    ...Object.fromEntries(lists.filter(([, texts]) => texts.length > 0)),
    allow: now.allow.length,
    deny: now.deny.length,
    unknown: after.unknown ?? null,
    bytes_per_second: after.bytesPerSecond ?? null,
    policy_sha256: createHash("sha256").update(JSON.stringify(after)).digest("hex"),
  };
}

function difference(left: readonly string[], right: readonly string[]): string[] {
  const known = new Set(right);
  return [...new Set(left)].filter((text) => !known.has(text));
}
