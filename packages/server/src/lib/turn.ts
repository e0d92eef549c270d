/** One at a time, in the order of asking. */
export class Turn {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Whether something is under way or waits. */
  get busy(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when all that was asked for until now is done, well or not. */
  get settled(): Promise<unknown> {
    return this.#last;
  }

  take<T>(act: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const done = this.#last.then(act).finally(() => this.#waiting--);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
