import { keepNewest } from "../../lib/keep-newest.ts";
import { webLimits } from "../limits.ts";
import type { ProviderName } from "./providers.ts";

interface Rest {
  untilMs: number;
  lastedMs: number;
  reason: string;
}

/** Which providers rest, for each namespace: one must not make another's searches fail. */
export class Health {
  readonly #namespaces = new Map<string, Map<ProviderName, Rest>>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How long it still rests, and why; undefined when it may be asked. */
  resting(namespace: string, name: ProviderName): { forMs: number; reason: string } | undefined {
    const rest = this.#namespaces.get(namespace)?.get(name);
    const forMs = rest === undefined ? 0 : rest.untilMs - this.#nowMs();
    return rest === undefined || forMs <= 0 ? undefined : { forMs, reason: rest.reason };
  }

  answered(namespace: string, name: ProviderName): void {
    this.#namespaces.get(namespace)?.delete(name);
  }

  /** Rests twice as long as it did the last time; returns for how long. */
  failed(namespace: string, name: ProviderName, reason: string, isCaptcha: boolean): number {
    const rests = this.#namespaces.get(namespace) ?? new Map<ProviderName, Rest>();
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, rests);
    keepNewest(this.#namespaces, webLimits.remembered);
    const { first, most } = webLimits.restMs;
    const shortest = isCaptcha ? webLimits.captchaRestMs : first;
    const lastedMs = Math.min(most, Math.max(shortest, 2 * (rests.get(name)?.lastedMs ?? 0)));
    rests.set(name, { untilMs: this.#nowMs() + lastedMs, lastedMs, reason });
    return lastedMs;
  }
}
