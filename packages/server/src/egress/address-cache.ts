import type { FoundAddresses } from "./dialer.ts";
import { gateLimits } from "./gate-limits.ts";

/** What name servers have said, as long as they say that it holds, and not for long. Who asks at the same time asks once. */
export class AddressCache {
  readonly #ask: (name: string) => Promise<FoundAddresses>;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, { addresses: string[]; untilMs: number }>();
  readonly #asking = new Map<string, Promise<string[]>>();

  constructor(ask: (name: string) => Promise<FoundAddresses>, nowMs: () => number) {
    this.#ask = ask;
    this.#nowMs = nowMs;
  }

  resolve(name: string): Promise<string[]> {
    const known = this.#known.get(name);
    if (known !== undefined && this.#nowMs() < known.untilMs) return Promise.resolve(known.addresses);
    const asking = this.#asking.get(name) ?? this.#find(name).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    return asking;
  }

  async #find(name: string): Promise<string[]> {
    const { addresses, ttlMs } = await this.#ask(name);
    this.#known.delete(name);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= gateLimits.remembered) this.#known.delete(oldest);
    this.#known.set(name, { addresses, untilMs: this.#nowMs() + Math.min(ttlMs, gateLimits.rememberedMs) });
    return addresses;
  }
}
