import { describe, expect, it } from "vitest";
import type { FeedEvent, FeedLag, FeedNews, FeedReader } from "../core/feed.ts";
import { feedLimits } from "../core/limits.ts";
import { EventFeed } from "./event-feed.ts";

const news = (namespace = "default", sandboxId: string | null = null): FeedNews => ({
  type: "queue.backpressure",
  namespace,
  sandboxId,
  data: {},
});

async function take(reader: FeedReader, count: number): Promise<(FeedEvent | FeedLag)[]> {
  const found = [];
  while (found.length < count) {
    const { done, value } = await reader.next();
    if (done) break;
    found.push(value);
  }
  return found;
}

describe("the feed of a daemon", () => {
  it("[EVT-01] tells a reader of one namespace nothing of another's", async () => {
    using feed = new EventFeed();
    using reader = feed.read({ namespace: "mine" });
    feed.publish(news("theirs"));
    feed.publish(news("mine"));
    expect(await take(reader, 1)).toMatchObject([{ namespace: "mine", id: 2 }]);
  });

  it("tells what happened after a given id, as far as it is still there", async () => {
    using feed = new EventFeed();
    for (let i = 0; i < 5; i++) feed.publish(news());
    using reader = feed.read({}, 3);
    expect((await take(reader, 2)).map((event) => (event as FeedEvent).id)).toEqual([4, 5]);
  });

  it("[EVT-01] tells a slow reader how many events it has missed, and goes on with the oldest there is", async () => {
    using feed = new EventFeed();
    using reader = feed.read();
    for (let i = 0; i < feedLimits.kept + 10; i++) feed.publish(news());
    expect(await take(reader, 2)).toMatchObject([
      { type: "events.lag", dropped: 10, id: 10 },
      { type: "queue.backpressure", id: 11 },
    ]);
  });

  it("wakes a reader that waits, and ends it when it is disposed of", async () => {
    using feed = new EventFeed();
    const reader = feed.read();
    const waiting = reader.next();
    feed.publish(news());
    expect(await waiting).toMatchObject({ done: false, value: { id: 1 } });
    const last = reader.next();
    reader[Symbol.dispose]();
    expect(await last).toMatchObject({ done: true });
  });

  it("refuses more readers than its limit, and lets one in when another has gone", () => {
    using feed = new EventFeed();
    const readers = Array.from({ length: feedLimits.readers }, () => feed.read());
    expect(() => feed.read()).toThrow(/more than/);
    readers[0]?.[Symbol.dispose]();
    readers[0]?.[Symbol.dispose]();
    feed.read();
    expect(() => feed.read()).toThrow(/more than/);
  });

  it("lets readers end with what is there when it closes", async () => {
    const feed = new EventFeed();
    const reader = feed.read();
    feed.publish(news());
    feed[Symbol.dispose]();
    expect(await take(reader, 9)).toMatchObject([{ id: 1 }]);
  });
});
