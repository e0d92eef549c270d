import { sessionLimits } from "./session-limits.ts";

export interface ToolCount {
  calls: number;
  failed: number;
  total_ms: number;
  max_ms: number;
}

/** How often each namespace has called each tool since the daemon started, and how long that took. */
export class ToolCounts {
  readonly #byNamespace = new Map<string, Map<string, ToolCount>>();

  add(namespace: string, tool: string, durationMs: number, failed: boolean): void {
    const counts = this.#byNamespace.get(namespace) ?? this.#admit(namespace);
    const count = counts.get(tool) ?? { calls: 0, failed: 0, total_ms: 0, max_ms: 0 };
    count.calls++;
    if (failed) count.failed++;
    count.total_ms += durationMs;
    count.max_ms = Math.max(count.max_ms, durationMs);
    counts.set(tool, count);
  }

  of(namespace: string): ReadonlyMap<string, Readonly<ToolCount>> {
    return this.#byNamespace.get(namespace) ?? new Map();
  }

  #admit(namespace: string): Map<string, ToolCount> {
    const [first] = this.#byNamespace.keys();
    if (this.#byNamespace.size >= sessionLimits.countedNamespaces && first !== undefined)
      this.#byNamespace.delete(first);
    const counts = new Map<string, ToolCount>();
    this.#byNamespace.set(namespace, counts);
    return counts;
  }
}
