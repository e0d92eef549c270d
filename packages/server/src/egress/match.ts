import { isIP } from "node:net";
import type { AllowRule, DenyRule } from "../core/egress.ts";
import { isWithin } from "./network.ts";

/** Whether a rule's host is this name or address, or holds it; both as `readHost` writes them. */
export function matchesHost(pattern: string, host: string): boolean {
  if (pattern === "*" || pattern === host) return true;
  if (pattern.startsWith("*.")) return host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1;
  return pattern.includes("/") && isIP(host) !== 0 && isWithin(host, [pattern]);
}

export function matchesPort(rule: AllowRule | DenyRule, port: number): boolean {
  return rule.port === undefined || rule.port === port;
}

/** More for an exact host than for a wildcard, and for a longer wildcard than for a shorter one. */
export function exactness({ host }: AllowRule): number {
  return host.startsWith("*") ? host.length : Number.POSITIVE_INFINITY;
}

/** Whether each destination of one rule is one of another's; conditions aside. */
export function covers(permit: AllowRule, asked: AllowRule): boolean {
  if (permit.port !== asked.port || permit.protocol !== asked.protocol) return false;
  // Of `*.b.c` any name will do: what holds one of them holds all, unless it is that name itself.
  const host = asked.host.replace(/^\*/, "x");
  return permit.host === asked.host || (permit.host.startsWith("*.") && matchesHost(permit.host, host));
}
