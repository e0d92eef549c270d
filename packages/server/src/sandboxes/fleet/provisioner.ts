import { hasLimits } from "../../core/request.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import type { BoundSecret, Handover, HeldSecret, SecretSource } from "../../core/secret.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Actor } from "./book.ts";

export type ProvisionTerms = Pick<SandboxRecord, "namespace" | "createdBy" | "serverId" | "env" | "limits"> & {
  copyOf?: string;
  /** As long as it lives. */
  withoutSecrets?: boolean;
};

type Holder = Pick<SandboxRecord, "id" | "namespace" | "createdBy" | "serverId"> & Pick<ProvisionTerms, "copyOf">;

/** Secrets and variables that a handle has. A new start has none, and neither has a new daemon. */
interface Given {
  held: HeldSecret[];
  variables: Record<string, string>;
  /** Generation of the namespace's secrets at the last look. */
  generation: number;
}

type Prepared = Handover & Pick<Given, "generation">;

/** Provides sandboxes with their limits, environment and secrets. */
export class Provisioner {
  readonly #secrets: SecretSource | undefined;
  readonly #given = new WeakMap<Sandbox, Given>();
  readonly #generations = new Map<string, number>();
  /** Ids of sandboxes that get no secret, whatever is bound. */
  readonly #without = new Set<string>();
  /** Sandboxes of hosted servers that may have the secrets of their server; all others have none (S121). */
  readonly #admitted = new Set<string>();

  constructor(secrets: SecretSource | undefined) {
    this.#secrets = secrets;
  }

  /** Applies limits, environment and secrets where they differ. */
  async provision(actor: Actor, sandbox: Sandbox, terms: ProvisionTerms): Promise<void> {
    if (!hasLimits(terms.limits, sandbox.limits)) await sandbox.updateLimits(terms.limits);
    sandbox.setEnvironment(terms.env);
    if (terms.withoutSecrets === true) this.#without.add(sandbox.id);
    await this.refresh(actor, sandbox, terms);
  }

  /** True if secrets may be bound to the sandboxes of a namespace. */
  hasSecrets(namespace: string): boolean {
    return this.#secrets?.concerns({ id: "", namespace }) === true;
  }

  /** The variables that are no secrets, for what starts from now on. */
  setPlain(sandbox: Sandbox, env: ProvisionTerms["env"]): void {
    sandbox.setEnvironment({ ...env, ...this.#given.get(sandbox)?.variables });
  }

  /** The secrets alone: what is bound to it now, and nothing else. */
  async refresh(actor: Actor, sandbox: Sandbox, terms: Omit<ProvisionTerms, "limits">): Promise<void> {
    const prepared = await this.prepare(actor, { ...terms, id: sandbox.id }, this.#given.get(sandbox)?.held);
    if (prepared !== undefined) await this.apply(sandbox, terms, prepared);
  }

  /** Finds what to bring and to take; undefined when no secret concerns it. Values may not leave from then on: hide them first. */
  async prepare(
    actor: Actor,
    { id, namespace, createdBy, serverId, copyOf }: Holder,
    held: readonly HeldSecret[] = [],
  ): Promise<Prepared | undefined> {
    const generation = this.#generation(namespace);
    const withheld = serverId !== null && !this.#admitted.has(id);
    const holder = { id, namespace, createdBy, serverId, withheld, ...(copyOf === undefined ? {} : { copyOf }) };
    if (this.#secrets?.concerns(holder) !== true || this.#without.has(id)) return undefined;
    return { ...(await this.#secrets.deliver(actor, holder, held)), generation };
  }

  async apply(
    sandbox: Sandbox,
    { env }: Pick<ProvisionTerms, "env">,
    { bring, take, known, generation }: Prepared,
  ): Promise<void> {
    const given = this.#given.get(sandbox) ?? { held: [], variables: {} };
    const changed = new Set([...bring, ...take].map(({ bindingId }) => bindingId));
    const variables = { ...given.variables };
    sandbox.redactor.hide(valuesInside({ bring, known }));
    for (const secret of take) await takeAway(sandbox, secret, variables);
    for (const secret of bring) await hand(sandbox, secret, variables);
    sandbox.setEnvironment({ ...env, ...variables });
    const held = [...given.held.filter(({ bindingId }) => !changed.has(bindingId)), ...bring];
    this.#given.set(sandbox, { held: held.map(withoutValue), variables, generation });
  }

  /** Says whether a hosted server's sandbox may have the server's secrets, from its next start or refresh on. */
  admit(sandboxId: string, admitted: boolean): void {
    if (admitted) this.#admitted.add(sandboxId);
    else this.#admitted.delete(sandboxId);
  }

  /** The secrets of a namespace have changed: sandboxes provisioned before must be checked again. */
  changed(namespace: string): void {
    this.#generations.set(namespace, this.#generation(namespace) + 1);
  }

  isCurrent(sandbox: Sandbox, { namespace }: Pick<SandboxRecord, "namespace">): boolean {
    return (this.#given.get(sandbox)?.generation ?? 0) === this.#generation(namespace);
  }

  /** True if its memory may hold a value for good (LIF-10). */
  async heldPlain(sandboxId: string): Promise<boolean> {
    return (await this.#secrets?.heldPlain(sandboxId)) ?? false;
  }

  async release(sandboxId: string): Promise<void> {
    this.#without.delete(sandboxId);
    this.#admitted.delete(sandboxId);
    await this.#secrets?.release(sandboxId);
  }

  #generation(namespace: string): number {
    return this.#generations.get(namespace) ?? 0;
  }
}

/** Values that a sandbox may know. A value for requests stays outside: output is not searched for it (S86). */
export function valuesInside({ bring, known }: Pick<Handover, "bring" | "known">): Buffer[] {
  return [...bring.filter(({ delivery }) => delivery.as !== "header").map(({ value }) => value), ...known];
}

type Variables = Record<string, string>;

async function hand(sandbox: Sandbox, secret: BoundSecret, variables: Variables): Promise<void> {
  const { name, delivery, placeholder, value } = secret;
  if (delivery.as === "file") await sandbox.wire.tunnels.place("secrets", name, value);
  else variables[delivery.variable] = delivery.as === "env" ? value.toString() : (placeholder ?? "");
}

async function takeAway(sandbox: Sandbox, { name, delivery }: HeldSecret, variables: Variables): Promise<void> {
  if (delivery.as === "file") await sandbox.wire.tunnels.place("secrets", name, null);
  else delete variables[delivery.variable];
}

function withoutValue({ bindingId, name, version, delivery }: HeldSecret): HeldSecret {
  return { bindingId, name, version, delivery };
}
