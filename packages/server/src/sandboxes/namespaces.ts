import { AppError } from "../core/errors.ts";
import { secretLimits } from "../vault/limits.ts";
import type { Sandbox } from "./sandbox.ts";

export const defaultNamespace = "default";

/** Groups of the sandboxes of one process without a daemon. Each sandbox has what the vault of its group holds, in memory. */
export class Namespaces {
  /** Namespaces of sandboxes outside the default one. */
  readonly #named = new Map<string, string>();
  readonly #live = new Set<Sandbox>();
  readonly #values = new Map<string, Map<string, string>>();

  of(sandboxId: string): string {
    return this.#named.get(sandboxId) ?? defaultNamespace;
  }

  join(sandbox: Sandbox, namespace: string): void {
    if (namespace === defaultNamespace) this.#named.delete(sandbox.id);
    else this.#named.set(sandbox.id, namespace);
    this.#live.add(sandbox);
    void sandbox.left.then(() => this.#live.delete(sandbox));
    for (const [name, value] of this.#values.get(namespace) ?? []) sandbox.vault_add(name, value);
  }

  /** For sandboxes that are there, and for those that come. */
  add(namespace: string, name: string, value: string): void {
    checkSecret(name, value);
    const values = this.#values.get(namespace) ?? new Map<string, string>();
    this.#values.set(namespace, values.set(name, value));
    for (const sandbox of this.#live) if (this.of(sandbox.id) === namespace) sandbox.vault_add(name, value);
  }
}

/** A shorter value is an ordinary word, which masking would find everywhere. */
export function checkSecret(name: string, value: string): void {
  const { min } = secretLimits.valueBytes;
  const max = secretLimits.variableBytes;
  const size = Buffer.byteLength(value);
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name))
    throw new AppError("invalid", `'${name.slice(0, 64)}' is not the name of a variable`);
  if (size < min || size > max || value.includes("\0"))
    throw new AppError("invalid", `the secret ${name} is not text of ${min} to ${max} bytes`);
}
