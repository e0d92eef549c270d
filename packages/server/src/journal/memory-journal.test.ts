import { describe, expect, it } from "vitest";
import type { Happening, JournalEvent } from "../core/journal.ts";
import { eventLimits } from "./limits.ts";
import { MemoryJournal } from "./memory-journal.ts";

const started = (sandboxId: string, runId: string): Happening => ({
  type: "execution.started",
  sandboxId,
  runId,
  data: {},
});

async function collect(stream: AsyncIterable<{ type: string }>): Promise<object[]> {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe("events", () => {
  it("reach every listener in their order", () => {
    const journal = new MemoryJournal();
    const seen: string[] = [];
    journal.subscribe((event) => seen.push(`a ${event.type}`));
    journal.subscribe((event) => seen.push(`b ${event.type}`));
    journal.record({ type: "sandbox.created", sandboxId: "s", data: { engine: "container" } });
    journal.record({ type: "sandbox.destroyed", sandboxId: "s", data: {} });
    expect(seen).toEqual(["a sandbox.created", "b sandbox.created", "a sandbox.destroyed", "b sandbox.destroyed"]);
  });

  it("stop when the subscription ends", () => {
    const journal = new MemoryJournal();
    const seen: JournalEvent[] = [];
    const end = journal.subscribe((event) => seen.push(event));
    journal.record(started("s", "1"));
    end();
    journal.record(started("s", "2"));
    expect(seen).toHaveLength(1);
  });

  it("are filtered by sandbox and by type", () => {
    const journal = new MemoryJournal();
    const seen: string[] = [];
    journal.of("one").subscribe((event) => seen.push(String(event.sandbox_id)));
    journal.subscribe((event) => seen.push(event.type), { types: ["sandbox.destroyed"] });
    journal.record(started("one", "1"));
    journal.record(started("two", "2"));
    journal.record({ type: "sandbox.destroyed", sandboxId: "two", data: {} });
    expect(seen).toEqual(["one", "sandbox.destroyed"]);
  });

  it("survive a listener that throws, now or later, and one that ends itself", async () => {
    const journal = new MemoryJournal();
    const seen: string[] = [];
    journal.subscribe(() => {
      throw new Error("now");
    });
    journal.subscribe(() => Promise.reject(new Error("later")));
    const end = journal.subscribe(() => end());
    journal.subscribe((event) => seen.push(event.type));
    journal.record(started("s", "1"));
    journal.record(started("s", "2"));
    await new Promise(setImmediate);
    expect(seen).toEqual(["execution.started", "execution.started"]);
    expect(journal.listenerFailures).toBe(4);
  });

  it("cannot be changed by one listener for the next", () => {
    const journal = new MemoryJournal();
    const seen: string[] = [];
    journal.subscribe((event) => {
      (event as { sandbox_id: string }).sandbox_id = "forged";
    });
    journal.subscribe((event) => seen.push(String(event.sandbox_id)));
    journal.record(started("s", "1"));
    expect(seen).toEqual(["s"]);
  });

  it("have a bounded number of listeners", () => {
    const journal = new MemoryJournal();
    for (let at = 0; at < eventLimits.listeners; at++) journal.subscribe(() => undefined);
    expect(() => journal.subscribe(() => undefined)).toThrow(/too many/);
  });

  it("stream to a reader until the source closes, those that wait included", async () => {
    const journal = new MemoryJournal();
    const stream = journal.of("s").stream();
    journal.record(started("s", "1"));
    journal.record(started("other", "2"));
    const reading = collect(stream);
    journal.record(started("s", "3"));
    journal.close();
    expect(await reading).toMatchObject([{ run_id: "1" }, { run_id: "3" }]);
    expect(await collect(journal.stream())).toEqual([]);
  });

  it("tell a slow reader how many it lost, and hold no more than their bound", async () => {
    const journal = new MemoryJournal();
    const stream = journal.stream();
    for (let at = 0; at < eventLimits.queued + 5; at++) journal.record(started("s", String(at)));
    journal.close();
    const events = await collect(stream);
    expect(events[0]).toMatchObject({ type: "events.lag", dropped: 5 });
    expect(events[1]).toMatchObject({ run_id: "5" });
    expect(events).toHaveLength(eventLimits.queued + 1);
  });

  it("leave nothing behind when a reader breaks off", async () => {
    const journal = new MemoryJournal();
    for (let at = 0; at <= eventLimits.listeners; at++) {
      const stream = journal.stream();
      journal.record(started("s", "1"));
      for await (const _ of stream) break;
    }
  });
});
