/** Who uses a thing that somebody will take away: who does so waits for them. */
export class Users {
  readonly #under = new Set<Promise<unknown>>();

  with<T>(use: () => Promise<T>): Promise<T> {
    const using = use();
    this.#under.add(using);
    const done = () => this.#under.delete(using);
    using.then(done, done);
    return using;
  }

  /** Resolves when those that began until now are done, well or not. */
  async none(): Promise<void> {
    await Promise.allSettled(this.#under);
  }
}
