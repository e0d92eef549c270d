import type { FeedEvent, FeedNews } from "../packages/server/src/core/feed.ts";
import { EventFeed } from "../packages/server/src/events/event-feed.ts";
import { eventData } from "../packages/server/src/schemas/event.ts";

/** A feed that holds each event against what is said of its type. */
export class CheckedFeed extends EventFeed {
  readonly #strays: string[] = [];

  override publish(news: FeedNews): FeedEvent {
    const { error } = eventData[news.type].safeParse(news.data);
    if (error !== undefined) this.#strays.push(`${news.type} ${JSON.stringify(news.data)}: ${error.message}`);
    return super.publish(news);
  }

  /** Whoever publishes may have nobody to tell of a failure. */
  checkAll(): void {
    if (this.#strays.length > 0) throw new Error(this.#strays.join("\n"));
  }
}
