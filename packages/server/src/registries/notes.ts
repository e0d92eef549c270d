import { ociLimits } from "./limits.ts";

/** What an image asked for and did not get, in sentences; a bounded list. */
export class Notes {
  readonly #lines = new Set<string>();
  readonly #counts = new Map<string, number>();

  add(line: string): void {
    if (this.#lines.size < ociLimits.notes) this.#lines.add(line.replaceAll(/[^\x20-\x7e]/g, "?"));
  }

  /** One sentence for however many entries there are. */
  count(kind: string): void {
    if (this.#counts.has(kind) || this.#counts.size < ociLimits.notes)
      this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  lines(): string[] {
    return [...this.#lines, ...[...this.#counts].map(([kind, count]) => `${kind} (${count})`)];
  }
}
