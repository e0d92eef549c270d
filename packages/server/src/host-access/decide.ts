/** What becomes of a command, by patterns alone: a block beats every yes, and a question every plain one (HST-01). */
import type { Argv, HostPolicy } from "../core/host-access.ts";
import { matchPattern, type Pattern, parseAllowing, parsePattern } from "./pattern.ts";

export interface ReadPolicy {
  allow: readonly Pattern[];
  ask: readonly Pattern[];
  blocked: readonly Pattern[];
  unknown: HostPolicy["unknown"];
}

export interface HostDecision {
  verdict: "allow" | "ask" | "deny";
  /** The pattern that decided; null when none matched. */
  rule: Pattern | null;
}

export function readPolicy({ allow, ask, blocked, unknown }: Omit<HostPolicy, "folders">): ReadPolicy {
  return {
    allow: allow.map(parseAllowing),
    ask: ask.map(parseAllowing),
    blocked: blocked.map(parsePattern),
    unknown,
  };
}

/** `spellings`: the names under which the program is known; what is blocked under one is blocked under all. */
export function decideHost(policy: ReadPolicy, argv: Argv, spellings: readonly string[] = []): HostDecision {
  const [program = "", ...args] = argv;
  const names = new Set([program, program.slice(program.lastIndexOf("/") + 1), ...spellings]);
  for (const rule of policy.blocked)
    for (const name of names)
      if (matchPattern(rule, [name, ...args], "wide") !== undefined) return { verdict: "deny", rule };
  const find = (rules: readonly Pattern[]) => rules.find((rule) => matchPattern(rule, argv, "strict") !== undefined);
  const asked = find(policy.ask);
  if (asked !== undefined) return { verdict: "ask", rule: asked };
  const allowed = find(policy.allow);
  if (allowed !== undefined) return { verdict: "allow", rule: allowed };
  return { verdict: policy.unknown, rule: null };
}
