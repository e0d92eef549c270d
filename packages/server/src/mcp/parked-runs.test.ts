import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Caller } from "../core/principal.ts";
import { toolLimits } from "../core/tool-limits.ts";
import { Lifeline } from "../tools/lifeline.ts";
import { type ParkedRun, ParkedRuns } from "./parked-runs.ts";

const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "operator" },
  requestId: "one",
};

/** A run that has used no sandbox yet. */
function parkedRun(owner: string, call = "call"): ParkedRun & { signal: AbortSignal } {
  const lifeline = new Lifeline({ caller, parts: {} as never });
  return { run: { lifeline } as ParkedRun["run"], owner, call, questions: [], signal: lifeline.signal };
}

describe("runs whose client was sent away with a question", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("[MCP-08] end when nobody comes back in time, and are not found then", async () => {
    using parked = new ParkedRuns();
    const run = parkedRun("a");
    const id = parked.put(run);
    await vi.advanceTimersByTimeAsync(toolLimits.parkedMs - 1);
    expect(run.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(run.signal.reason).toMatchObject({ code: "timeout" });
    expect(() => parked.take(id, "a", "call")).toThrow("no such call");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("[MCP-08] go on once their client is back, however long that takes", async () => {
    using parked = new ParkedRuns();
    const run = parkedRun("a");
    expect(parked.take(parked.put(run), "a", "call").run).toBe(run.run);
    await vi.advanceTimersByTimeAsync(toolLimits.parkedMs * 2);
    expect(run.signal.aborted).toBe(false);
  });

  it("[MCP-08] are so many of a key and so many in all; whoever comes back makes room", () => {
    using parked = new ParkedRuns();
    const ids: string[] = [];
    const fill = (owner: string) => {
      while (parked.hasRoom(owner)) ids.push(parked.put(parkedRun(owner)));
    };
    fill("key 0");
    expect(ids.length).toBe(toolLimits.parkedPerKey);
    for (let key = 1; parked.hasRoom(`key ${key}`); key++) fill(`key ${key}`);
    expect(ids.length).toBe(toolLimits.parked);
    expect(parked.hasRoom("another")).toBe(false);
    expect(() => parked.take(ids[0] ?? "", "key 1", "call")).toThrow("no such call");
    parked.take(ids[0] ?? "", "key 0", "call");
    expect([parked.hasRoom("another"), parked.hasRoom("key 0"), parked.hasRoom("key 1")]).toEqual([true, true, false]);
  });

  it("[MCP-08] end with the server", () => {
    const run = parkedRun("a");
    {
      using parked = new ParkedRuns();
      parked.put(run);
    }
    expect(run.signal.reason).toMatchObject({ code: "unavailable" });
    expect(vi.getTimerCount()).toBe(0);
  });
});
