/** What may leave: from the policies of a sandbox and a destination to a verdict. Pure; whatever it cannot read, it denies. */
import type {
  AllowRule,
  AllowVerdict,
  DenyVerdict,
  Destination,
  EgressVerdict,
  LayeredPolicy,
} from "../core/egress.ts";
import { isBlockedAddress } from "./blocked-ranges.ts";
import { exactness, matchesHost, matchesPort } from "./match.ts";
import { isWithin } from "./network.ts";
import { type HostKind, readHost } from "./read-host.ts";
import { formatDenyRule } from "./rule-text.ts";

/** A deny in any layer beats every allow; what no rule knows is asked about if a policy says so, and denied otherwise. */
export function decide(layers: LayeredPolicy, { host: asked, port }: Destination): EgressVerdict {
  const read = readHost(asked);
  if (read.kind === "invalid") return denial(read.problem);
  const { kind, host } = read;
  return findDeny(layers, host, port) ?? findAllow(layers, host, port) ?? decideUnknown(layers, kind, host, port);
}

/**
 * Whether a name may be resolved at all, whatever the port (NET-05): it is allowed or asked about on some port. A denial
 * is that of the name.
 */
export function decideName(layers: LayeredPolicy, name: string): EgressVerdict {
  const read = readHost(name);
  if (read.kind === "invalid") return denial(read.problem);
  const { kind, host } = read;
  const denied = findDeny(layers, host, undefined);
  if (denied !== undefined) return denied;
  const port = openPort(layers, host);
  const allowed = port === undefined ? undefined : findAllow(layers, host, port);
  return allowed ?? decideUnknown(layers, kind, host, undefined);
}

/** One on which a rule lets it out and none denies it. */
function openPort(layers: LayeredPolicy, host: string): number | undefined {
  const denies = layers.flatMap(({ policy }) => policy.deny.filter((rule) => matchesHost(rule.host, host)));
  const closed = new Set(denies.map(({ port }) => port));
  for (const { policy } of layers) {
    const found = policy.allow.find((rule) => !closed.has(rule.port) && matchesHost(rule.host, host));
    if (found !== undefined) return found.port;
  }
  return undefined;
}

/**
 * Whether an allowed name may lead to an address (NET-06), which is judged after it was resolved and is then the one
 * that is dialled. Private networks only where a rule names them; a denied address is denied by any name.
 */
export function decideAddress(
  layers: LayeredPolicy,
  verdict: AllowVerdict,
  address: string,
): { action: "allow" } | DenyVerdict {
  const read = readHost(address);
  if (read.kind !== "ipv4" && read.kind !== "ipv6") return denial("it resolves to no address");
  const denied = findDeny(layers, read.host, verdict.rule.port);
  if (denied !== undefined) return denied;
  const isNamed = verdict.rule.host === read.host || isWithin(read.host, verdict.ranges);
  if (!isNamed && isBlockedAddress(read.host))
    return denial(`it resolves to ${read.host}, which is not a public address, and no rule allows that network`);
  return { action: "allow" };
}

/** Without a port: what denies every port. */
function findDeny(layers: LayeredPolicy, host: string, port: number | undefined): DenyVerdict | undefined {
  for (const { layer, policy } of layers)
    for (const rule of policy.deny)
      if (matchesHost(rule.host, host) && (port === undefined ? rule.port === undefined : matchesPort(rule, port)))
        return { action: "deny", layer, rule, reason: `denied by the rule ${formatDenyRule(rule)} of the ${layer}` };
  return undefined;
}

/**
 * Of several rules those with conditions come first, so that one without cannot undo them; then an earlier layer's, so
 * that a later one cannot; then the more exact; then the one that is checked more.
 */
function findAllow(layers: LayeredPolicy, host: string, port: number): AllowVerdict | undefined {
  const matching = layers.flatMap(({ layer, policy }) =>
    policy.allow.filter((rule) => rule.port === port && matchesHost(rule.host, host)).map((rule) => ({ layer, rule })),
  );
  const strict = matching.filter(({ rule }) => isConditional(rule));
  const candidates = strict.length > 0 ? strict : matching;
  const layer = candidates[0]?.layer;
  const rules = candidates.filter((found) => found.layer === layer).map((found) => found.rule);
  const [rule] = rules.sort(
    (left, right) =>
      compare(exactness(right), exactness(left)) ||
      checks[left.protocol] - checks[right.protocol] ||
      Number(isInspected(right)) - Number(isInspected(left)),
  );
  if (layer === undefined || rule === undefined) return undefined;
  const ranges = [...new Set(matching.flatMap((found) => found.rule.ranges ?? []))];
  const alike = rules.filter((other) => other.protocol === rule.protocol && isInspected(other) === isInspected(rule));
  return { action: "allow", layer, rule, rules: alike, ranges };
}

const checks = { tls: 0, http: 1, tcp: 2 } as const;

function isInspected({ inspect }: AllowRule): boolean {
  return inspect === true;
}

function isConditional({ inspect, methods, paths, uploadAskBytes }: AllowRule): boolean {
  return inspect === true || (methods ?? paths ?? uploadAskBytes) !== undefined;
}

function compare(left: number, right: number): number {
  return left === right ? 0 : left - right;
}

function decideUnknown(layers: LayeredPolicy, kind: HostKind, host: string, port: number | undefined): EgressVerdict {
  if (host === "localhost" || host.endsWith(".localhost")) return denial("localhost is the sandbox itself");
  if (kind !== "name") return denial(`no rule allows the address ${host}`);
  const unknown = layers.findLast(({ policy }) => policy.unknown !== undefined)?.policy.unknown ?? "deny";
  if (unknown === "ask") return { action: "ask" };
  const rules = layers.flatMap(({ policy }) => policy.allow).filter((rule) => matchesHost(rule.host, host));
  const ports = [...new Set(rules.map((rule) => rule.port))].sort((left, right) => left - right);
  if (port === undefined || ports.length === 0) return denial(`no rule allows ${host}`);
  return denial(`no rule allows ${host} on port ${port}, only on ${ports.join(", ")}`);
}

function denial(reason: string): DenyVerdict {
  return { action: "deny", layer: null, rule: null, reason };
}
