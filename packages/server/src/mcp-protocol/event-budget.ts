import { mcpLimits } from "./limits.ts";

interface Keeper {
  readonly bytes: number;
  /** Gives up its oldest event; false when it has none. */
  dropOldest(): boolean;
}

/** What all sessions keep together. When that is too much, whoever keeps most makes room, so that nobody can push others out. */
export class EventBudget {
  readonly #byOwner = new Map<string, Set<Keeper>>();
  bytes = 0;

  add(owner: string, keeper: Keeper): void {
    const own = this.#byOwner.get(owner) ?? new Set();
    this.#byOwner.set(owner, own.add(keeper));
  }

  remove(owner: string, keeper: Keeper): void {
    const own = this.#byOwner.get(owner);
    own?.delete(keeper);
    if (own?.size === 0) this.#byOwner.delete(owner);
  }

  makeRoom(bytes: number): void {
    const isFull = () => this.bytes + bytes > mcpLimits.eventBytes;
    while (isFull()) {
      const largest = most(most(this.#byOwner.values(), sizeOf) ?? [], (keeper) => keeper.bytes);
      if (!largest?.dropOldest()) return;
      while (isFull() && largest.dropOldest());
    }
  }
}

function sizeOf(keepers: Iterable<Keeper>): number {
  let bytes = 0;
  for (const keeper of keepers) bytes += keeper.bytes;
  return bytes;
}

function most<T>(all: Iterable<T>, size: (one: T) => number): T | undefined {
  let found: T | undefined;
  for (const one of all) if (found === undefined || size(one) > size(found)) found = one;
  return found;
}
