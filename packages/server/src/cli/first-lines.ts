import { cliLimits } from "./limits.ts";

/** Lines about names that a sandbox chose: the first ones, and the number of the others. */
export class FirstLines {
  readonly #lines: string[] = [];
  #more = 0;

  add(line: string): void {
    if (this.#lines.length < cliLimits.namesTold) this.#lines.push(line);
    else this.#more++;
  }

  /** The lines to print; the last one may be the number of the others. */
  get all(): readonly string[] {
    return this.#more === 0 ? this.#lines : [...this.#lines, `${this.#more} more`];
  }
}
