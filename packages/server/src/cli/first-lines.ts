import { cliLimits } from "../core/limits.ts";

/** Lines about names that a sandbox chose: the first of them, and how many more there are. */
export class FirstLines {
  readonly #lines: string[] = [];
  #more = 0;

  add(line: string): void {
    if (this.#lines.length < cliLimits.namesTold) this.#lines.push(line);
    else this.#more++;
  }

  /** As they are shown: the last one may be a number. */
  get all(): readonly string[] {
    return this.#more === 0 ? this.#lines : [...this.#lines, `${this.#more} more`];
  }
}
