import type { Recorder } from "../core/journal.ts";
import type { BoundSecret, HeaderPlaceholder, HeldSecret, SecretHolder } from "../core/secret.ts";
import { type ReaderParts, readValue } from "./value-reader.ts";

interface Bound extends HeaderPlaceholder {
  bindingId: string;
  namespace: string;
}

/** Which placeholder stands for what in which sandbox (NET-12). */
export class Placeholders {
  readonly #bySandbox = new Map<string, Bound[]>();

  of(sandboxId: string): readonly HeaderPlaceholder[] {
    return this.#bySandbox.get(sandboxId) ?? [];
  }

  change({ id, namespace }: SecretHolder, bring: readonly BoundSecret[], take: readonly HeldSecret[]): void {
    const changed = new Set([...bring, ...take].map(({ bindingId }) => bindingId));
    const left = (this.#bySandbox.get(id) ?? []).filter(({ bindingId }) => !changed.has(bindingId));
    for (const { bindingId, name, delivery, placeholder } of bring) {
      if (delivery.as !== "header" || placeholder === null) continue;
      const { header, hosts, format } = delivery;
      left.push({ bindingId, namespace, placeholder, name, header, hosts, format });
    }
    if (left.length === 0) this.#bySandbox.delete(id);
    else this.#bySandbox.set(id, left);
  }

  forget(sandboxId: string): void {
    this.#bySandbox.delete(sandboxId);
  }

  async reveal(
    parts: ReaderParts & { journal: Recorder },
    sandboxId: string,
    placeholder: string,
    host: string,
  ): Promise<Buffer | undefined> {
    const found = this.#bySandbox.get(sandboxId)?.find((one) => one.placeholder === placeholder);
    if (found === undefined || !found.hosts.includes(host)) return undefined;
    const { namespace, name, bindingId } = found;
    parts.journal.requireRoom({ namespace });
    const read = await readValue(parts, namespace, name);
    if (read === undefined) return undefined;
    const data = { secret: name, version: read.version, binding_id: bindingId, as: "header", host } as const;
    try {
      await parts.journal.record({ type: "vault.accessed", by: "system", namespace, sandboxId, data });
    } catch (error) {
      read.value.fill(0);
      throw error;
    }
    return read.value;
  }
}
