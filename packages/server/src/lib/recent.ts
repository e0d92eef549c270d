import { keepNewest } from "./keep-newest.ts";

/** Remembers so many by their names, and forgets what was not used for longest. */
export class Recent<V> {
  readonly #most: number;
  /** What was used last stands last. */
  readonly #entries = new Map<string, V>();
  #last: string | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  get(name: string): V | undefined {
    const found = this.#entries.get(name);
    if (found !== undefined) this.set(name, found);
    return found;
  }

  set(name: string, value: V): void {
    // What is used again and again need not change places with itself.
    if (name !== this.#last) this.#entries.delete(name);
    this.#last = name;
    this.#entries.set(name, value);
    keepNewest(this.#entries, this.#most);
  }

  delete(name: string): void {
    this.#entries.delete(name);
  }
}
