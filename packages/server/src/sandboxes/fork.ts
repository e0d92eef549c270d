import { forkLimits } from "../core/fork-limits.ts";
import type { CopyParts } from "./make-copy.ts";
import type { Sandbox } from "./sandbox.ts";
import { tellGeneration } from "./save.ts";
import { dropSeed, growSeed, saveSeed } from "./seed.ts";

/**
 * Copies of a running sandbox: memory, processes, contexts and files as they were at one moment. Either all that were asked
 * for, or none. The original stands still meanwhile, for as long as saving and going on take; the first copy is made beside.
 */
export async function forkSandbox(
  original: Sandbox,
  parts: CopyParts,
  { count, atOnce }: { count: number; atOnce: number },
): Promise<Sandbox[]> {
  const copies = new Copying(count);
  let made: { copies: Sandbox[] } | undefined;
  try {
    const seed = await saveSeed(original, {
      meanwhile: (seed) => copies.begin(() => growSeed(seed, parts), 1),
    });
    try {
      copies.begin(() => growSeed(seed, parts), atOnce - 1);
      await tellGeneration(original.wire.tunnels, original.id);
      made = { copies: await copies.all() };
    } finally {
      await copies.settled();
      await dropSeed(seed, parts.engine);
    }
    return made.copies;
  } catch (error) {
    await copies.giveUp();
    throw error;
  }
}

/** All of them or none. */
export async function makeAll(count: number, make: () => Promise<Sandbox>): Promise<Sandbox[]> {
  const copies = new Copying(count);
  copies.begin(make, forkLimits.atOnce.default);
  try {
    return await copies.all();
  } catch (error) {
    await copies.giveUp();
    throw error;
  }
}

/** So many copies, a few at the same time. */
class Copying {
  readonly #made: Sandbox[] = [];
  readonly #workers: Promise<void>[] = [];
  #left: number;
  #failure: { error: unknown } | undefined;

  constructor(count: number) {
    this.#left = count;
  }

  begin(make: () => Promise<Sandbox>, workers: number): void {
    for (let worker = 0; worker < workers; worker++) this.#workers.push(this.#work(make));
  }

  async #work(make: () => Promise<Sandbox>): Promise<void> {
    while (this.#left > 0 && this.#failure === undefined) {
      this.#left--;
      try {
        this.#made.push(await make());
      } catch (error) {
        this.#failure ??= { error };
      }
    }
  }

  async settled(): Promise<void> {
    await Promise.all(this.#workers);
  }

  async all(): Promise<Sandbox[]> {
    await this.settled();
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#made;
  }

  async giveUp(): Promise<void> {
    this.#left = 0;
    await this.settled();
    await Promise.allSettled(this.#made.map((copy) => copy.destroy()));
  }
}
