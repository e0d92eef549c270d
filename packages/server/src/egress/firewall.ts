/** Every connection of one sandbox to the world goes through here: judged, asked about, reached, written down, cut (S44). */

import type { Approval } from "../core/approval.ts";
import type {
  AllowRule,
  AllowVerdict,
  Destination,
  EgressAttempt,
  EgressLog,
  EgressProtocol,
  LayeredPolicy,
  PolicySource,
} from "../core/egress.ts";
import { messageOf } from "../core/errors.ts";
import { packageAdvice } from "../core/network-refusal.ts";
import type { PackageHosts } from "../core/package.ts";
import type { Redactor } from "../core/redaction.ts";
import type { Asker } from "./ask.ts";
import { Attempts } from "./attempts.ts";
import { connect, judgeAddress, type World } from "./connect.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";
import { decide } from "./decide.ts";
import { gateLimits } from "./gate-limits.ts";
import { readHost } from "./read-host.ts";
import type { RefusalWatches } from "./refusal-watches.ts";
import { formatAllowRule, formatDenyRule, impliedProtocol } from "./rule-text.ts";
import { Throttles } from "./throttles.ts";
import { UpstreamConnection } from "./upstream-connection.ts";

export type NameRedactor = Pick<Redactor, "text" | "hostName">;

export interface FirewallParts {
  sandboxId: string;
  policies: PolicySource;
  asker: Asker;
  log: EgressLog;
  /** Takes values of the sandbox out of what is said and written down. */
  redactor: NameRedactor;
  /** Watches of the runs under way. */
  watches: RefusalWatches;
  world: World;
  packageHosts: PackageHosts;
  nowMs: () => number;
}

/** A destination that may be reached, by a rule or by a human's word for this connection. */
export interface AllowedDestination {
  destination: Destination;
  verdict: AllowVerdict;
  approval?: Approval | undefined;
  /** True if only an approval allows it: then only a deny rule takes it back. */
  once: boolean;
}

/** How the bytes of a connection are read. */
export type Reading = EgressProtocol | "inspected";

/** As its rule wants it. */
export function readingOf({ protocol, inspect }: AllowRule): Reading {
  return inspect === true ? "inspected" : protocol;
}

export type Judged =
  | { allowed: AllowedDestination; refusal?: undefined }
  | { refusal: ConnectionRefusal; allowed?: undefined };
export type Connected =
  | { upstream: UpstreamConnection; refusal?: undefined }
  | { refusal: ConnectionRefusal; upstream?: undefined };

interface Live {
  allowed: AllowedDestination;
  address: string;
  /** Why it was cut. */
  cut: string | null;
}

export class Firewall {
  readonly #parts: FirewallParts;
  readonly #live = new Map<UpstreamConnection, Live>();
  readonly #throttles: Throttles;
  readonly #closed = new AbortController();
  #connecting = 0;
  readonly #attempts: Attempts;
  readonly #unwatch: () => void;

  constructor(parts: FirewallParts) {
    this.#parts = parts;
    this.#attempts = new Attempts(parts);
    this.#unwatch = parts.policies.watch(parts.sandboxId, () => this.#review());
    this.#throttles = new Throttles(parts.asker);
    this.#throttles.follow(this.policy);
  }

  get policy(): LayeredPolicy {
    return this.#parts.policies.policyOf(this.#parts.sandboxId);
  }

  /** Connections that are open to the world. */
  get open(): number {
    return this.#live.size;
  }

  /** Decides about a destination, and asks a human where policy says so. An earlier approval of the same destination counts. */
  async judge(asked: Destination, earlier?: AllowedDestination): Promise<Judged> {
    if (this.secretIn(asked.host))
      return this.#refuse({ kind: "denied", destination: asked, rule: null, layer: null, ...secretInName });
    const host = readHost(asked.host);
    const destination = { host: "host" in host ? host.host : asked.host.slice(0, 253), port: asked.port };
    const verdict = decide(this.policy, destination);
    if (verdict.action === "allow") return { allowed: { destination, verdict, once: false } };
    if (verdict.action === "deny") {
      const rule = verdict.rule === null ? null : formatDenyRule(verdict.rule);
      return this.#refuse({ kind: "denied", destination, reason: verdict.reason, layer: verdict.layer, rule });
    }
    if (earlier?.once === true && isSame(earlier.destination, destination)) return { allowed: earlier };
    return this.#ask(destination);
  }

  async #ask(destination: Destination): Promise<Judged> {
    const { asker } = this.#parts;
    const base = { kind: "denied", destination, rule: null, layer: null } as const;
    const answer = await asker.ask("egress", destination, { ...destination });
    const { approval } = answer;
    if (answer.state === "refused") return this.#refuse({ ...base, reason: answer.reason, approval });
    const verdict = decide(this.policy, destination);
    if (verdict.action === "allow") return { allowed: { destination, verdict, approval, once: false } };
    if (verdict.action === "deny") return this.#refuse({ ...base, reason: verdict.reason, approval });
    return { allowed: { destination, verdict: approved(destination), approval, once: true } };
  }

  /** Reaches what was permitted. Nothing flows before the attempt is written down. */
  async connect(allowed: AllowedDestination, reading: Reading): Promise<Connected> {
    const { world } = this.#parts;
    const { destination, verdict, approval } = allowed;
    const startedAtMs = this.#parts.nowMs();
    const mistaken = mismatch(verdict, reading);
    if (mistaken !== undefined) return this.refuse(allowed, "denied", mistaken, null);
    if (this.#live.size + this.#connecting >= gateLimits.connections)
      return this.refuse(allowed, "limited", `the sandbox has ${gateLimits.connections} connections already`, null);
    if (this.#attempts.isFull)
      return this.refuse(allowed, "limited", "the sandbox attempts more than can be written down", null);
    this.#connecting++;
    const reached = await connect(world, this.policy, verdict, destination, this.#closed.signal).finally(() => {
      this.#connecting--;
    });
    const { address } = reached;
    if (reached.state !== "reached")
      return this.refuse(allowed, reached.state === "denied" ? "denied" : "failed", reached.reason, address);
    const live: Live = { allowed, address: reached.address, cut: null };
    const upstream = new UpstreamConnection(reached.socket, this.#throttles.of(allowed));
    upstream.on("error", (error) => {
      live.cut ??= messageOf(error);
    });
    const attempt: EgressAttempt = {
      ...this.#attempts.make(destination, address),
      verdict: "allowed",
      rule: allowed.once ? null : formatAllowRule(verdict.rule),
      layer: verdict.layer,
      reason: null,
      approvalId: approval?.id ?? null,
      startedAtMs,
      durationMs: null,
    };
    const objection = this.#objection(live);
    if (objection !== undefined) {
      upstream.destroy();
      return this.refuse(allowed, "denied", objection, address);
    }
    this.#live.set(upstream, live);
    upstream.once("close", () => this.#live.delete(upstream));
    try {
      await this.#attempts.write(attempt);
    } catch (error) {
      upstream.destroy();
      return { refusal: this.#refusalOf(allowed, "failed", `it could not be written down: ${messageOf(error)}`) };
    }
    const end = () => {
      const why = live.cut ?? upstream.why();
      this.#attempts.ended(attempt, upstream, why === null ? null : this.#clean(why));
    };
    if (upstream.destroyed) end();
    else upstream.once("close", end);
    return { upstream };
  }

  /** Refuses what had been permitted, for what showed since. */
  refuse(
    allowed: AllowedDestination,
    kind: ConnectionRefusal["kind"],
    reason: string,
    address: string | null,
  ): Promise<{ refusal: ConnectionRefusal }> {
    return this.#refuse(this.#refusalOf(allowed, kind, reason), address);
  }

  #refusalOf(
    { destination, verdict, approval, once }: AllowedDestination,
    kind: ConnectionRefusal["kind"],
    reason: string,
  ): ConnectionRefusal {
    const rule = once ? null : formatAllowRule(verdict.rule);
    return { kind, destination, reason, rule, layer: verdict.layer, approval };
  }

  /** The one place that all refusals pass. What they say may be a program's own words. */
  async #refuse(said: ConnectionRefusal, address: string | null = null): Promise<{ refusal: ConnectionRefusal }> {
    const refusal = this.#shown(said);
    await this.#attempts.writeRefusal(refusal, address);
    return { refusal };
  }

  #shown(refusal: ConnectionRefusal): ConnectionRefusal {
    const { destination, reason } = refusal;
    const host = this.#parts.redactor.hostName(destination.host);
    if (host !== destination.host) return { ...refusal, ...secretInName, destination: { ...destination, host } };
    const source = this.#parts.packageHosts.get(host);
    const advice = source === undefined ? {} : { ask: packageAdvice[source] };
    return { ...advice, ...refusal, reason: this.#clean(reason) };
  }

  #clean(reason: string): string {
    const { redactor } = this.#parts;
    return redactor.text(reason).replace(word, (name) => redactor.hostName(name));
  }

  /** True for a name that holds a value of the sandbox: its resolver, its log and an approver would learn it (S95). */
  secretIn(name: string): boolean {
    return this.#parts.redactor.hostName(name) !== name;
  }

  /** Writes down what was refused for what it said. Port 0: a name that a program wanted to know and may not. */
  async note(destination: Destination, reason: string): Promise<void> {
    await this.#refuse({ kind: "denied", destination, rule: null, layer: null, reason });
  }

  /** Shows a refusal that the log has already. */
  noteAgain(destination: Destination, reason: string): void {
    this.#attempts.show(this.#shown({ kind: "denied", destination, rule: null, layer: null, reason }));
  }

  /** After a change of policy: cuts what it no longer allows (NET-10). */
  #review(): void {
    this.#throttles.follow(this.policy);
    for (const [upstream, live] of this.#live) {
      const objection = this.#objection(live);
      if (objection !== undefined) cut(upstream, live, `the policy changed: ${objection}`);
    }
  }

  #objection({ allowed, address }: Live): string | undefined {
    const { destination, once } = allowed;
    const layers = this.policy;
    const verdict = decide(layers, destination);
    if (verdict.action === "deny" && !(once && verdict.rule === null)) return verdict.reason;
    if (verdict.action === "allow")
      return compare(allowed.verdict, verdict) ?? judgeAddress(this.#parts.world, layers, verdict, address);
    return once ? judgeAddress(this.#parts.world, layers, allowed.verdict, address) : "it would have to be asked for";
  }

  close(reason: string): void {
    this.#unwatch();
    this.#closed.abort();
    for (const [upstream, live] of this.#live) cut(upstream, live, reason);
  }
}

/** Words of a sentence that may be names. */
const word = /[\w.-]{6,}/g;

const secretInName = {
  reason: "the name of the host holds a secret of this sandbox",
  ask: "take the secret out of the name: such a name is never asked about or looked up",
};

function cut(upstream: UpstreamConnection, live: Live, reason: string): void {
  live.cut ??= reason;
  upstream.refuse(reason);
}

function approved({ host, port }: Destination): AllowVerdict {
  const rule = { host, port, protocol: impliedProtocol(port, false) };
  return { action: "allow", layer: "approval", rule, rules: [rule], ranges: [] };
}

function isSame(left: Destination, right: Destination): boolean {
  return left.host === right.host && left.port === right.port;
}

/** A connection was read in one way; a rule that wants another was not obeyed by it. */
function compare(before: AllowVerdict, now: AllowVerdict): string | undefined {
  return readingOf(before.rule) === readingOf(now.rule)
    ? undefined
    : "its rule looks at connections in another way now";
}

function mismatch({ rule }: AllowVerdict, reading: Reading): string | undefined {
  const wanted = readingOf(rule);
  if (wanted === reading || wanted === "tcp") return undefined;
  if (wanted === "inspected") return "its rule wants TLS to be looked into";
  return `the rule ${formatAllowRule(rule)} is for ${wanted}, not for ${reading}`;
}
