import { AppError } from "../core/errors.ts";
import type { Feed, FeedEvent, FeedFilter, FeedLag, FeedNews, FeedReader } from "../core/feed.ts";
import { feedLimits } from "../core/limits.ts";

function matches({ namespace, sandboxId, types }: FeedFilter, event: FeedEvent): boolean {
  if (namespace !== undefined && namespace !== event.namespace) return false;
  if (sandboxId !== undefined && sandboxId !== event.sandboxId) return false;
  return types === undefined || types.includes(event.type);
}

/** The last events in one ring that all readers share: ten thousand that do not read cost ten thousand numbers. */
export class EventFeed implements Feed, Disposable {
  readonly #ring: FeedEvent[] = [];
  readonly #waiting = new Set<() => void>();
  #readers = 0;
  #last = 0;
  #waking = false;
  #closed = false;

  publish(news: FeedNews): FeedEvent {
    const event = Object.freeze({ ...news, id: ++this.#last, atMs: Date.now() });
    this.#ring[event.id % feedLimits.kept] = event;
    this.#wakeSoon();
    return event;
  }

  read(filter: FeedFilter = {}, after = this.#last): FeedReader {
    if (this.#readers >= feedLimits.readers)
      throw new AppError("limit_exceeded", `more than ${feedLimits.readers} readers of events`, {
        hint: "end those that are not needed any more",
        retryAfterMs: feedLimits.retryMs,
      });
    this.#readers++;
    let seen = Math.min(after, this.#last);
    let ended = false;
    let wake: (() => void) | undefined;
    const end = () => {
      if (ended) return;
      ended = true;
      this.#readers--;
      wake?.();
    };
    const take = (): FeedEvent | FeedLag | undefined => {
      const gone = this.#last - feedLimits.kept;
      if (seen < gone) {
        const dropped = gone - seen;
        seen = gone;
        return { type: "events.lag", dropped, id: gone, atMs: Date.now() };
      }
      while (seen < this.#last) {
        const event = this.#ring[++seen % feedLimits.kept];
        if (event !== undefined && matches(filter, event)) return event;
      }
      return undefined;
    };
    const sleep = () =>
      new Promise<void>((resolve) => {
        wake = () => {
          this.#waiting.delete(resolve);
          resolve();
        };
        this.#waiting.add(resolve);
      });
    return {
      next: async () => {
        for (;;) {
          const value = ended ? undefined : take();
          if (value !== undefined) return { done: false, value };
          if (ended || this.#closed) {
            end();
            return { done: true, value: undefined };
          }
          await sleep();
        }
      },
      return: async () => {
        end();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
      [Symbol.dispose]: end,
    };
  }

  /** After whoever has told it: an answer does not wait for those who hear of it. */
  #wakeSoon(): void {
    if (this.#waking || this.#waiting.size === 0) return;
    this.#waking = true;
    setImmediate(() => {
      this.#waking = false;
      this.#wake();
    });
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }

  /** Readers end once they have read what is there. */
  [Symbol.dispose](): void {
    this.#closed = true;
    this.#wake();
  }
}
