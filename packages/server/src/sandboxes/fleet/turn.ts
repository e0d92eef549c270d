/** One at a time, in the order of asking. */
export class Turn {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Whether something is under way or waits. */
  get busy(): boolean {
    return this.#waiting > 0;
  }

  take<T>(act: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const done = this.#last.then(act).finally(() => this.#waiting--);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
