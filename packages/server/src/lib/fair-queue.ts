/** What waits for its turn, of several owners: who has least under way, then who was served longest ago, comes first; and nobody takes all the room. */
export class FairQueue<T extends { owner: string }> {
  readonly #most: { all: number; each: number };
  readonly #waiting: T[] = [];
  readonly #underWay = new Map<string, number>();
  /** At which turn each of those that wait or are under way was served last. */
  readonly #served = new Map<string, number>();
  #turn = 0;

  constructor(most: { all: number; each: number }) {
    this.#most = most;
  }

  get length(): number {
    return this.#waiting.length;
  }

  hasRoom(owner: string): boolean {
    const own = this.#waiting.filter((one) => one.owner === owner).length;
    return this.#waiting.length < this.#most.all && own < this.#most.each;
  }

  push(one: T): void {
    this.#waiting.push(one);
  }

  /** The next one, which is under way from then on. */
  take(): T | undefined {
    const busy = ({ owner }: T) => this.#underWay.get(owner) ?? 0;
    const served = ({ owner }: T) => this.#served.get(owner) ?? 0;
    const [first, ...others] = this.#waiting;
    if (first === undefined) return undefined;
    const next = others.reduce(
      (best, one) => ((busy(one) - busy(best) || served(one) - served(best)) < 0 ? one : best),
      first,
    );
    this.remove(next);
    this.begin(next.owner);
    return next;
  }

  begin(owner: string): void {
    this.#underWay.set(owner, (this.#underWay.get(owner) ?? 0) + 1);
    this.#served.set(owner, ++this.#turn);
  }

  end(owner: string): void {
    const left = (this.#underWay.get(owner) ?? 0) - 1;
    if (left > 0) this.#underWay.set(owner, left);
    else this.#underWay.delete(owner);
    if (left <= 0 && this.#waiting.every((one) => one.owner !== owner)) this.#served.delete(owner);
  }

  remove(one: T): void {
    const at = this.#waiting.indexOf(one);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  clear(): T[] {
    return this.#waiting.splice(0);
  }
}
