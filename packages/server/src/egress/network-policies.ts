/** Changes network policies, checks who may do so, and stores them (S48). */
import type { AllowRule, Destination, EgressPolicy, LayeredPolicy, NamespacePolicy } from "../core/egress.ts";
import type {
  FleetEgress,
  NamespaceDraft,
  PolicyDraft,
  PolicyRecords,
  SandboxPolicies,
} from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import type { Facts, Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import { isAllowed, keyFor } from "../core/scope.ts";
import { type ActivePolicies, emptyPolicy } from "./active-policies.ts";
import { agentRules, stillGranted } from "./agent-rules.ts";
import { changed, type PolicyChange } from "./change-policy.ts";
import { checkAllowRules, checkNamespacePolicy, checkPolicy } from "./check-policy.ts";
import { decide } from "./decide.ts";
import { describeChange, type Rules } from "./describe-change.ts";
import { type Explanation, explain } from "./explain.ts";
import { egressLimits } from "./limits.ts";
import { loadPublicSuffixes } from "./public-suffix.ts";

export interface NetworkPoliciesParts {
  policies: ActivePolicies;
  records: PolicyRecords;
  journal: Recorder;
  /** Allow rules of a sandbox's own policy. */
  sandboxRules: number;
  onError: (error: unknown) => void;
}

/** Policies of a daemon. A change is on the disk and in the log before it holds, and then holds at once. */
export class NetworkPolicies implements FleetEgress {
  readonly #parts: NetworkPoliciesParts;
  /** Policies of sandboxes that no fleet has named yet. */
  readonly #kept: Map<string, SandboxPolicies>;
  /** Hosted servers by their sandboxes. */
  readonly #servers = new Map<string, string>();
  #changes: Promise<unknown> = Promise.resolve();

  private constructor(parts: NetworkPoliciesParts, kept: Map<string, SandboxPolicies>) {
    this.#parts = parts;
    this.#kept = kept;
  }

  static async open(parts: NetworkPoliciesParts): Promise<NetworkPolicies> {
    const { policies, records } = parts;
    await loadPublicSuffixes();
    for (const { namespace, policy } of await records.namespaces()) policies.setNamespace(namespace, policy);
    const rows = await records.sandboxes();
    return new NetworkPolicies(parts, new Map(rows.map(({ sandboxId, ...kept }) => [sandboxId, kept])));
  }

  /** After the fleet has said which sandboxes there are: what is kept of others goes. */
  async sweep(): Promise<void> {
    for (const id of [...this.#kept.keys()]) await this.#drop(id);
  }

  namespacePolicy({ principal }: Caller): NamespacePolicy {
    return this.#parts.policies.namespace(principal.namespace);
  }

  setNamespacePolicy(caller: Caller, draft: NamespaceDraft): Promise<NamespacePolicy> {
    return this.#changeNamespace(caller, () => draft);
  }

  changeNamespacePolicy(caller: Caller, change: PolicyChange): Promise<NamespacePolicy> {
    return this.#changeNamespace(caller, (policy) => changed(policy, change));
  }

  #changeNamespace(caller: Caller, next: (policy: NamespacePolicy) => NamespaceDraft): Promise<NamespacePolicy> {
    const { policies, records } = this.#parts;
    const { namespace } = caller.principal;
    return this.#inTurn(async () => {
      const before = policies.namespace(namespace);
      const policy = checkNamespacePolicy(next(before));
      const facts: Facts = (within) => records.putNamespace(namespace, policy, within);
      await this.#record(caller, null, before, policy, facts);
      policies.setNamespace(namespace, policy);
      return policy;
    });
  }

  /** Another namespace's does not exist, nor does a hosted server's for anybody else (S120). */
  sandboxPolicies({ principal, serverId }: Caller, id: string): SandboxPolicies {
    const found = this.#parts.policies.sandbox(id);
    if (found?.namespace === principal.namespace && this.#servers.get(id) === serverId) return found;
    throw new AppError("not_found", `unknown sandbox ${JSON.stringify(id).slice(0, 80)}`);
  }

  setSandboxPolicy(caller: Caller, id: string, draft: PolicyDraft): Promise<void> {
    return this.#changeOwn(caller, id, () => draft);
  }

  changeSandboxPolicy(caller: Caller, id: string, change: PolicyChange): Promise<void> {
    return this.#changeOwn(caller, id, (policy) => changed(policy, change));
  }

  #changeOwn(caller: Caller, id: string, next: (policy: EgressPolicy) => PolicyDraft): Promise<void> {
    return this.#inTurn(async () => {
      const { sandbox } = this.sandboxPolicies(caller, id);
      // From here on it is the operator's: what an agent opened stays as far as it holds now.
      const now = stillGranted(sandbox, this.namespacePolicy(caller).agentsMayAllow);
      const after = checkPolicy(next(now), this.#parts.sandboxRules);
      await this.#putSandbox(caller, id, { sandbox: after });
    });
  }

  /** Adds the rule of an approval that holds for the life of the sandbox. */
  holdInSandbox(caller: Caller, id: string, change: PolicyChange): Promise<void> {
    return this.#inTurn(async () => {
      const { approval } = this.sandboxPolicies(caller, id);
      const after = checkPolicy(changed(approval, change), egressLimits.approvedRules);
      await this.#putSandbox(caller, id, { approval: after });
    });
  }

  async #putSandbox(caller: Caller, id: string, changes: Partial<SandboxPolicies>): Promise<void> {
    const { policies, records } = this.#parts;
    const { sandbox, approval } = this.sandboxPolicies(caller, id);
    const after = { sandbox, approval, ...changes };
    const facts: Facts = (within) => records.putSandbox(id, after, within);
    await this.#record(caller, id, joined({ sandbox, approval }), joined(after), facts);
    policies.setSandbox(id, after);
  }

  layersOf(caller: Caller, sandboxId?: string): LayeredPolicy {
    const { policies } = this.#parts;
    if (sandboxId === undefined) return policies.policyIn(caller.principal.namespace);
    this.sandboxPolicies(caller, sandboxId);
    return policies.policyOf(sandboxId);
  }

  explain(caller: Caller, destination: Destination, sandboxId?: string): Explanation {
    const found = explain(this.layersOf(caller, sandboxId), destination);
    if (this.#parts.policies.enabled) return found;
    const reason = "the network is turned off here, and no rule counts";
    return { ...found, verdict: { action: "deny", layer: null, rule: null, reason } };
  }

  check(caller: Caller, asked: PolicyDraft): EgressPolicy {
    const { sandboxRules } = this.#parts;
    this.#parts.policies.checkEnabled(asked.allow);
    if (isAllowed(caller.principal, "operate")) return checkPolicy(asked, sandboxRules);
    const allow = this.#agentRules(caller, asked.allow ?? [], sandboxRules);
    if (asked.unknown === "ask" && !this.#isAskedAbout(caller))
      throw new AppError("forbidden", "agents cannot set unknown: ask", {
        hint: keyFor(caller.principal, "operate"),
        details: { policy: "egress" },
      });
    return { ...checkPolicy({ ...asked, allow: [] }, 0), allow, byAgent: true };
  }

  /** True if names that match no rule need approval. Judged by a name that nobody has (RFC 6761). */
  #isAskedAbout(caller: Caller): boolean {
    return decide(this.layersOf(caller), { host: "unknown.invalid", port: 443 }).action === "ask";
  }

  #agentRules(caller: Caller, asked: Parameters<typeof agentRules>[1], most: number): AllowRule[] {
    return agentRules(this.namespacePolicy(caller).agentsMayAllow, asked, most);
  }

  async keep(sandboxId: string, policy: EgressPolicy): Promise<void> {
    const policies = { sandbox: policy, approval: emptyPolicy };
    this.#kept.set(sandboxId, policies);
    await this.#parts.records.putSandbox(sandboxId, policies);
  }

  ownPolicy(sandboxId: string): EgressPolicy | undefined {
    return this.#parts.policies.sandbox(sandboxId)?.sandbox;
  }

  /** Returns the hosted server that a sandbox belongs to. */
  serverOf(sandboxId: string): string | undefined {
    return this.#servers.get(sandboxId);
  }

  entered(sandboxId: string, namespace: string, serverId: string | null): void {
    if (serverId !== null) this.#servers.set(sandboxId, serverId);
    const ofServer = serverId !== null;
    this.#parts.policies.admit(sandboxId, namespace, this.#kept.get(sandboxId), { ofServer });
    this.#kept.delete(sandboxId);
  }

  left(sandboxId: string): void {
    this.#servers.delete(sandboxId);
    this.#parts.policies.forget(sandboxId);
    this.#drop(sandboxId).catch(this.#parts.onError);
  }

  async #drop(sandboxId: string): Promise<void> {
    this.#kept.delete(sandboxId);
    await this.#inTurn(() => this.#parts.records.deleteSandbox(sandboxId));
  }

  openRun(caller: Caller, sandboxId: string, domains: readonly string[]): Disposable {
    this.#parts.policies.checkEnabled(domains);
    const { runRules } = egressLimits;
    const opened = isAllowed(caller.principal, "operate")
      ? { allow: checkAllowRules(domains, runRules) }
      : { allow: this.#agentRules(caller, domains, runRules), byAgent: true as const };
    return this.#parts.policies.open(sandboxId, "run", opened);
  }

  /** One change after the other: each begins with what the last one made. */
  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#changes.then(act);
    this.#changes = turn.catch(() => undefined);
    return turn;
  }

  #record(by: Caller, sandboxId: string | null, before: Rules, after: Rules, facts: Facts): Promise<void> {
    const data = describeChange(before, after);
    return this.#parts.journal.record({ type: "egress.changed", by, sandboxId, data }, facts);
  }
}

function joined({ sandbox, approval }: SandboxPolicies): EgressPolicy {
  return { ...sandbox, allow: [...sandbox.allow, ...approval.allow], deny: [...sandbox.deny, ...approval.deny] };
}
