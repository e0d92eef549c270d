/** At most so many at once; the others wait in the order of asking, and what can wait lets all others go first. */
export class Slots {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  readonly #patient: (() => void)[] = [];
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  with<T>(act: () => Promise<T>): Promise<T> {
    return this.#with(this.#waiting, act);
  }

  /** For what nobody waits for. */
  withPatience<T>(act: () => Promise<T>): Promise<T> {
    return this.#with(this.#patient, act);
  }

  async #with<T>(queue: (() => void)[], act: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#most) this.#taken++;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await act();
    } finally {
      const next = this.#waiting.shift() ?? this.#patient.shift();
      if (next === undefined) this.#taken--;
      else next(); // the slot is handed on
    }
  }
}

/** Does all, so many at once. What throws ends nothing: the errors are returned. */
export async function eachOf<T>(
  items: Iterable<T>,
  atOnce: number,
  act: (item: T) => Promise<void>,
): Promise<unknown[]> {
  const slots = new Slots(atOnce);
  const settled = await Promise.allSettled([...items].map((item) => slots.with(() => act(item))));
  return settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
}
