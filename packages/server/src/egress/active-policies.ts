import type { EgressLayer, EgressPolicy, LayeredPolicy, NamespacePolicy, PolicySource } from "../core/egress.ts";
import { egressLayers } from "../core/egress.ts";
import type { SandboxPolicies } from "../core/egress-policies.ts";
import { AppError } from "../core/errors.ts";
import { stillGranted } from "./agent-rules.ts";

export const emptyPolicy: EgressPolicy = { allow: [], deny: [] };
export const emptyNamespace: NamespacePolicy = { ...emptyPolicy, agentsMayAllow: [] };

interface Entry extends SandboxPolicies {
  namespace: string;
  /** It is nobody's: what is allowed to all is not meant for it, but what is denied is. */
  alone: boolean;
  /** It is a hosted server's: what others of the namespace may reach is not meant for it, what is denied is (S122). */
  ofServer: boolean;
  /** Layers that hold for a while. */
  passing: Set<{ layer: EgressLayer; policy: EgressPolicy }>;
}

/** The policy in force for each sandbox. A sandbox without owner, or where the network is disabled, may reach nothing. */
export class ActivePolicies implements PolicySource {
  readonly enabled: boolean;
  readonly #configuration: EgressPolicy;
  readonly #namespaces = new Map<string, NamespacePolicy>();
  readonly #sandboxes = new Map<string, Entry>();
  readonly #watchers = new Map<string, Set<() => void>>();

  constructor({
    enabled = true,
    configuration = emptyPolicy,
  }: { enabled?: boolean; configuration?: EgressPolicy } = {}) {
    this.enabled = enabled;
    this.#configuration = configuration;
  }

  /** Refuses rules where the network is disabled: they would have no effect. */
  checkEnabled(rules: readonly unknown[] = []): void {
    if (this.enabled || rules.length === 0) return;
    throw new AppError("unsupported", "network access of sandboxes is disabled", {
      hint: "the setting enable_network (CAISSON_NETWORK) enables it",
    });
  }

  namespace(name: string): NamespacePolicy {
    return this.#namespaces.get(name) ?? emptyNamespace;
  }

  /** At once for every sandbox of it (NET-10). */
  setNamespace(name: string, policy: NamespacePolicy): void {
    this.#namespaces.set(name, policy);
    for (const [id, { namespace }] of this.#sandboxes) if (namespace === name) this.#changed(id);
  }

  /** Undefined for one that is nobody's. */
  sandbox(id: string): Readonly<SandboxPolicies & { namespace: string; alone: boolean }> | undefined {
    return this.#sandboxes.get(id);
  }

  admit(
    id: string,
    namespace: string,
    policies: Partial<SandboxPolicies> = {},
    { ofServer = false }: { ofServer?: boolean } = {},
  ): void {
    const { sandbox = emptyPolicy, approval = emptyPolicy } = policies;
    const isNew = !this.#sandboxes.has(id);
    this.#sandboxes.set(id, { namespace, sandbox, approval, alone: false, ofServer, passing: new Set() });
    // What lets nothing out is what it had as nobody's, and nothing of it is open that could be cut.
    const layers = [this.#configuration, this.namespace(namespace), sandbox, approval];
    if (!isNew || layers.some(opensAnything)) this.#changed(id);
  }

  /** One that makes an image: it may reach what is opened for it, and nothing else. */
  admitAlone(id: string): void {
    const policies = { sandbox: emptyPolicy, approval: emptyPolicy };
    this.#sandboxes.set(id, { ...policies, namespace: "system", alone: true, ofServer: false, passing: new Set() });
    this.#changed(id);
  }

  setSandbox(id: string, policies: Partial<SandboxPolicies>): void {
    const entry = this.#sandboxes.get(id);
    if (entry === undefined) return;
    Object.assign(entry, policies);
    this.#changed(id);
  }

  /** Adds a layer until it is disposed of. */
  open(id: string, layer: "run" | "registry", policy: Pick<EgressPolicy, "allow" | "byAgent">): Disposable {
    this.checkEnabled(policy.allow);
    const entry = this.#sandboxes.get(id);
    const passing = { layer, policy: { ...policy, deny: [] } };
    if (entry === undefined || policy.allow.length === 0) return { [Symbol.dispose]: () => undefined };
    entry.passing.add(passing);
    this.#changed(id);
    return {
      [Symbol.dispose]: () => {
        if (entry.passing.delete(passing) && this.#sandboxes.get(id) === entry) this.#changed(id);
      },
    };
  }

  forget(id: string): void {
    if (this.#sandboxes.delete(id)) this.#changed(id);
  }

  policyOf(id: string): LayeredPolicy {
    const entry = this.#sandboxes.get(id);
    return entry === undefined || !this.enabled ? [] : this.#layers(entry.namespace, entry);
  }

  /** For a sandbox of the namespace that has no rule of its own. */
  policyIn(namespace: string): LayeredPolicy {
    return this.enabled ? this.#layers(namespace) : [];
  }

  #layers(namespace: string, entry?: Entry): LayeredPolicy {
    if (entry?.alone === true) {
      const denied = { ...emptyPolicy, deny: this.#configuration.deny };
      return [{ layer: "configuration", policy: denied }, ...entry.passing];
    }
    const ofNamespace = this.namespace(namespace);
    const own = entry === undefined ? [] : [{ layer: "sandbox" as const, policy: entry.sandbox }, ...entry.passing];
    const shared = (policy: EgressPolicy) => (entry?.ofServer === true ? withoutOpenings(policy) : policy);
    const layers = [
      { layer: "configuration" as const, policy: shared(this.#configuration) },
      { layer: "namespace" as const, policy: shared(ofNamespace) },
      ...own.map(({ layer, policy }) => ({ layer, policy: stillGranted(policy, ofNamespace.agentsMayAllow) })),
      ...(entry === undefined ? [] : [{ layer: "approval" as const, policy: entry.approval }]),
    ];
    return layers.sort((left, right) => egressLayers.indexOf(left.layer) - egressLayers.indexOf(right.layer));
  }

  watch(id: string, changed: () => void): () => void {
    const watchers = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, watchers.add(changed));
    return () => {
      watchers.delete(changed);
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id);
    };
  }

  #changed(id: string): void {
    for (const changed of [...(this.#watchers.get(id) ?? [])]) changed();
  }
}

function withoutOpenings({ unknown: _, ...policy }: EgressPolicy): EgressPolicy {
  return { ...policy, allow: [] };
}

function opensAnything({ allow, unknown, bytesPerSecond }: EgressPolicy): boolean {
  return allow.length > 0 || (unknown ?? "deny") !== "deny" || bytesPerSecond !== undefined;
}
