/** One result for all who ask, made when first asked for. After a failure, whoever asks next tries again. */
export class Once<T> {
  #made: Promise<T> | undefined;

  /** Whether it is under way or made. */
  get begun(): boolean {
    return this.#made !== undefined;
  }

  get(make: () => Promise<T>): Promise<T> {
    this.#made ??= make().catch((error) => {
      this.#made = undefined;
      throw error;
    });
    return this.#made;
  }
}
