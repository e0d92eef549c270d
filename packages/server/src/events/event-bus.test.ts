import { describe, expect, it } from "vitest";
import type { Happening, SandboxEvent } from "../core/event.ts";
import { eventLimits } from "../core/limits.ts";
import { EventBus } from "./event-bus.ts";

const started = (sandboxId: string, runId: string): Happening => ({ type: "execution.started", sandboxId, runId });

async function collect(stream: AsyncIterable<{ type: string }>): Promise<object[]> {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe("events", () => {
  it("reach every listener in their order", () => {
    const bus = new EventBus();
    const seen: string[] = [];
    bus.subscribe((event) => seen.push(`a ${event.type}`));
    bus.subscribe((event) => seen.push(`b ${event.type}`));
    bus.emit({ type: "sandbox.created", sandboxId: "s", engine: "container" });
    bus.emit({ type: "sandbox.destroyed", sandboxId: "s" });
    expect(seen).toEqual(["a sandbox.created", "b sandbox.created", "a sandbox.destroyed", "b sandbox.destroyed"]);
  });

  it("stop when the subscription ends", () => {
    const bus = new EventBus();
    const seen: SandboxEvent[] = [];
    const end = bus.subscribe((event) => seen.push(event));
    bus.emit(started("s", "1"));
    end();
    bus.emit(started("s", "2"));
    expect(seen).toHaveLength(1);
  });

  it("are filtered by sandbox and by type", () => {
    const bus = new EventBus();
    const seen: string[] = [];
    bus.of("one").subscribe((event) => seen.push(event.sandboxId));
    bus.subscribe((event) => seen.push(event.type), { types: ["sandbox.destroyed"] });
    bus.emit(started("one", "1"));
    bus.emit(started("two", "2"));
    bus.emit({ type: "sandbox.destroyed", sandboxId: "two" });
    expect(seen).toEqual(["one", "sandbox.destroyed"]);
  });

  it("survive a listener that throws, now or later, and one that ends itself", async () => {
    const bus = new EventBus();
    const seen: string[] = [];
    bus.subscribe(() => {
      throw new Error("now");
    });
    bus.subscribe(() => Promise.reject(new Error("later")));
    const end = bus.subscribe(() => end());
    bus.subscribe((event) => seen.push(event.type));
    bus.emit(started("s", "1"));
    bus.emit(started("s", "2"));
    await new Promise(setImmediate);
    expect(seen).toEqual(["execution.started", "execution.started"]);
    expect(bus.listenerFailures).toBe(4);
  });

  it("cannot be changed by one listener for the next", () => {
    const bus = new EventBus();
    const seen: string[] = [];
    bus.subscribe((event) => {
      (event as { sandboxId: string }).sandboxId = "forged";
    });
    bus.subscribe((event) => seen.push(event.sandboxId));
    bus.emit(started("s", "1"));
    expect(seen).toEqual(["s"]);
  });

  it("have a bounded number of listeners", () => {
    const bus = new EventBus();
    for (let at = 0; at < eventLimits.listeners; at++) bus.subscribe(() => undefined);
    expect(() => bus.subscribe(() => undefined)).toThrow(/more than/);
  });

  it("stream to a reader until the source closes, those that wait included", async () => {
    const bus = new EventBus();
    const stream = bus.of("s").stream();
    bus.emit(started("s", "1"));
    bus.emit(started("other", "2"));
    const reading = collect(stream);
    bus.emit(started("s", "3"));
    bus.close();
    expect(await reading).toMatchObject([{ runId: "1" }, { runId: "3" }]);
    expect(await collect(bus.stream())).toEqual([]);
  });

  it("tell a slow reader how many it lost, and hold no more than their bound", async () => {
    const bus = new EventBus();
    const stream = bus.stream();
    for (let at = 0; at < eventLimits.queued + 5; at++) bus.emit(started("s", String(at)));
    bus.close();
    const events = await collect(stream);
    expect(events[0]).toMatchObject({ type: "events.lag", dropped: 5 });
    expect(events[1]).toMatchObject({ runId: "5" });
    expect(events).toHaveLength(eventLimits.queued + 1);
  });

  it("leave nothing behind when a reader breaks off", async () => {
    const bus = new EventBus();
    for (let at = 0; at <= eventLimits.listeners; at++) {
      const stream = bus.stream();
      bus.emit(started("s", "1"));
      for await (const _ of stream) break;
    }
  });
});
