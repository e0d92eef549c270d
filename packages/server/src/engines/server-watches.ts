import { AppError } from "../core/errors.ts";
import type { FileEvent, FileWatch } from "../core/watch.ts";
import { engineSocketLimits, watchLimits } from "./limits.ts";

interface Open {
  watch: FileWatch;
  events: AsyncIterator<FileEvent>;
  /** The read that was begun and whose event nobody has got. */
  next: Promise<IteratorResult<FileEvent>> | undefined;
  busy: boolean;
}

/** The watches of one daemon. Each is read only when its reader asks, so that one which nobody reads costs no memory. */
export class ServerWatches {
  readonly #open = new Map<number, Open>();
  #last = 0;

  /** Those that have ended count until they are closed. */
  async add(watch: FileWatch): Promise<number> {
    if (this.#open.size >= watchLimits.inAll) {
      await watch[Symbol.asyncDispose]();
      throw new AppError("limit_exceeded", `too many open watches (limit: ${watchLimits.inAll})`);
    }
    this.#open.set(++this.#last, { watch, events: watch[Symbol.asyncIterator](), next: undefined, busy: false });
    return this.#last;
  }

  /** Waits for an event, and gives those with it that are there already. */
  async next(number: number): Promise<{ events: FileEvent[]; ended: boolean }> {
    const open = this.#open.get(number);
    if (open === undefined || open.busy) throw new AppError("not_found", `unknown watch ${number}`);
    open.busy = true;
    try {
      return await read(open);
    } finally {
      open.busy = false;
    }
  }

  async close(number: number): Promise<void> {
    const open = this.#open.get(number);
    this.#open.delete(number);
    await open?.watch[Symbol.asyncDispose]();
  }

  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#open.keys()].map((number) => this.close(number)));
  }
}

async function read(open: Open): Promise<{ events: FileEvent[]; ended: boolean }> {
  const events: FileEvent[] = [];
  for (;;) {
    open.next ??= open.events.next();
    open.next.catch(() => undefined); // told to whoever reads next
    const late =
      events.length === 0 ? undefined : new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)));
    const found = await (late === undefined ? open.next : Promise.race([open.next, late]));
    if (found === undefined) return { events, ended: false };
    if (found.done === true) return { events, ended: true };
    open.next = undefined;
    events.push(found.value);
    if (events.length === engineSocketLimits.events) return { events, ended: false };
  }
}
