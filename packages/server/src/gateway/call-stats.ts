import type { CallStats } from "../core/server.ts";
import { gatewayLimits } from "./limits.ts";

interface Counted {
  calls: number;
  errors: number;
  /** The newest, in a ring. */
  durationsMs: number[];
}

/** Counts calls since the daemon started. */
export class CallCounts {
  readonly #servers = new Map<string, Counted>();

  add(serverId: string, durationMs: number, isError: boolean): void {
    const counted = this.#servers.get(serverId) ?? { calls: 0, errors: 0, durationsMs: [] };
    counted.durationsMs[counted.calls % gatewayLimits.measuredCalls] = durationMs;
    counted.calls += 1;
    if (isError) counted.errors += 1;
    this.#servers.delete(serverId); // the one that is not used for longest is forgotten first
    this.#servers.set(serverId, counted);
    const [oldest] = this.#servers.keys();
    if (this.#servers.size > gatewayLimits.countedServers && oldest !== undefined) this.#servers.delete(oldest);
  }

  of(serverId: string): CallStats {
    const { calls, errors, durationsMs } = this.#servers.get(serverId) ?? { calls: 0, errors: 0, durationsMs: [] };
    const sorted = durationsMs.toSorted((a, b) => a - b);
    const at = (part: number) => sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? null;
    return { calls, errors, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
  }
}
