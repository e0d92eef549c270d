import type { Destination, EgressLayer, EgressVerdict, LayeredPolicy } from "../core/egress.ts";
import { decide } from "./decide.ts";
import { matchesHost, matchesPort } from "./match.ts";
import { readHost } from "./read-host.ts";
import { formatAllowRule, formatDenyRule } from "./rule-text.ts";

interface MatchingRule {
  layer: EgressLayer;
  effect: "allow" | "deny";
  rule: string;
  /** Whether it is for this port too; if not it says nothing. */
  applies: boolean;
}

export interface Explanation {
  /** In the form that rules are compared with. */
  host: string;
  port: number;
  verdict: EgressVerdict;
  /** Every rule for this host. */
  rules: MatchingRule[];
}

/** What would happen, and which rules have a say in it. Nothing is looked up. */
export function explain(layers: LayeredPolicy, destination: Destination): Explanation {
  const read = readHost(destination.host);
  const host = read.kind === "invalid" ? destination.host : read.host;
  const { port } = destination;
  const rules = layers.flatMap(({ layer, policy }) => [
    ...policy.deny
      .filter((rule) => matchesHost(rule.host, host))
      .map((rule) => ({
        layer,
        effect: "deny" as const,
        rule: formatDenyRule(rule),
        applies: matchesPort(rule, port),
      })),
    ...policy.allow
      .filter((rule) => matchesHost(rule.host, host))
      .map((rule) => ({ layer, effect: "allow" as const, rule: formatAllowRule(rule), applies: rule.port === port })),
  ]);
  return { host, port, verdict: decide(layers, destination), rules: read.kind === "invalid" ? [] : rules };
}

/** A verdict in words: what, where, by which rule, why. */
export function describeVerdict(verdict: EgressVerdict) {
  const nothing = { layer: null, rule: null, reason: null };
  switch (verdict.action) {
    case "ask":
      return { ...nothing, action: verdict.action, reason: "no rule knows it, and unknown names are asked about" };
    case "allow":
      return { ...nothing, action: verdict.action, layer: verdict.layer, rule: formatAllowRule(verdict.rule) };
    case "deny": {
      const { action, layer, rule, reason } = verdict;
      return { action, layer, rule: rule === null ? null : formatDenyRule(rule), reason };
    }
  }
}
