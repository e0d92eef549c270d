import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { mcpLimits } from "./limits.ts";
import { ParkedCalls } from "./parked-calls.ts";

/** A call that ends when its client is lost. */
function parkedCall(owner: string, call = "call") {
  const controller = new AbortController();
  const end = (reason: unknown) => controller.abort(reason);
  return { run: { lose: end, cancel: end }, owner, call, questions: [], signal: controller.signal };
}

describe("calls whose client was sent away with a question", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("[MCP-08] end when nobody comes back in time, and are not found then", async () => {
    using parked = new ParkedCalls();
    const run = parkedCall("a");
    const id = parked.put(run);
    await vi.advanceTimersByTimeAsync(mcpLimits.parkedMs - 1);
    expect(run.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(run.signal.reason).toMatchObject({ code: "timeout" });
    expect(() => parked.take(id, "a", "call")).toThrow("no such call");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("[MCP-08] go on once their client is back, however long that takes", async () => {
    using parked = new ParkedCalls();
    const run = parkedCall("a");
    expect(parked.take(parked.put(run), "a", "call").run).toBe(run.run);
    await vi.advanceTimersByTimeAsync(mcpLimits.parkedMs * 2);
    expect(run.signal.aborted).toBe(false);
  });

  it("[MCP-08] are so many of a key and so many in all; whoever comes back makes room", () => {
    using parked = new ParkedCalls();
    const ids: string[] = [];
    const fill = (owner: string) => {
      while (parked.hasRoom(owner)) ids.push(parked.put(parkedCall(owner)));
    };
    fill("key 0");
    expect(ids.length).toBe(mcpLimits.parkedPerKey);
    for (let key = 1; parked.hasRoom(`key ${key}`); key++) fill(`key ${key}`);
    expect(ids.length).toBe(mcpLimits.parked);
    expect(parked.hasRoom("another")).toBe(false);
    expect(() => parked.take(ids[0] ?? "", "key 1", "call")).toThrow("no such call");
    parked.take(ids[0] ?? "", "key 0", "call");
    expect([parked.hasRoom("another"), parked.hasRoom("key 0"), parked.hasRoom("key 1")]).toEqual([true, true, false]);
  });

  it("[MCP-08] end with the server", () => {
    const run = parkedCall("a");
    {
      using parked = new ParkedCalls();
      parked.put(run);
    }
    expect(run.signal.reason).toMatchObject({ code: "unavailable" });
    expect(vi.getTimerCount()).toBe(0);
  });
});
