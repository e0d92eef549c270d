import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { EventBudget } from "./event-budget.ts";
import { SessionEvents } from "./event-store.ts";
import { mcpLimits } from "./limits.ts";

const message = (text: string): JSONRPCMessage => ({
  jsonrpc: "2.0",
  method: "notifications/message",
  params: { text },
});

async function replay(events: SessionEvents, last: string): Promise<unknown[]> {
  const told: unknown[] = [];
  const send = async (_: string, sent: JSONRPCMessage) => void told.push("params" in sent ? sent.params : undefined);
  await events.replayEventsAfter(last, { send });
  return told;
}

describe("the events of a session", () => {
  it("are told again from where a stream broke off, those of that stream alone", async () => {
    const events = new SessionEvents(new EventBudget(), "key");
    const first = await events.storeEvent("a", {} as JSONRPCMessage);
    await events.storeEvent("b", message("other"));
    const second = await events.storeEvent("a", message("one"));
    await events.storeEvent("a", message("two"));
    expect(await replay(events, first)).toEqual([{ text: "one" }, { text: "two" }]);
    expect(await replay(events, second)).toEqual([{ text: "two" }]);
    expect(await events.getStreamIdForEventId(second)).toBe("a");
  });

  it("are refused where the oldest made room, never told with a gap", async () => {
    const events = new SessionEvents(new EventBudget(), "key");
    const first = await events.storeEvent("a", message("one"));
    for (let count = 0; count < mcpLimits.eventsPerSession; count++) await events.storeEvent("a", message("more"));
    expect(await events.getStreamIdForEventId(first)).toBeUndefined();
    await expect(replay(events, first)).rejects.toThrow("not kept");
  });

  it("[S135] have ids that no other session, and no later process, gives to others", async () => {
    const budget = new EventBudget();
    const [one, other] = [new SessionEvents(budget, "key"), new SessionEvents(budget, "key")];
    const id = await one.storeEvent("a", message("one"));
    await other.storeEvent("a", message("other"));
    expect(await other.getStreamIdForEventId(id)).toBeUndefined();
    expect(await one.getStreamIdForEventId(id)).toBe("a");
  });

  it("take no more memory than a session has, and all sessions together", async () => {
    const budget = new EventBudget();
    const sessions = Array.from({ length: 40 }, (_, at) => new SessionEvents(budget, `key ${at % 4}`));
    const large = message("x".repeat(mcpLimits.eventBytesPerSession / 2));
    for (const events of sessions)
      for (let count = 0; count < 4; count++) {
        await events.storeEvent("a", large);
        expect(budget.bytes).toBeLessThanOrEqual(mcpLimits.eventBytes);
        expect(events.bytes).toBeLessThanOrEqual(mcpLimits.eventBytesPerSession);
      }
    await sessions[0]?.storeEvent("a", message("x".repeat(mcpLimits.eventBytesPerSession * 2)));
    for (const events of sessions) events[Symbol.dispose]();
    expect(budget.bytes).toBe(0);
  });

  it("are not pushed out by another key's, however many sessions it has: whoever keeps most makes room", async () => {
    const budget = new EventBudget();
    const large = message("x".repeat(mcpLimits.eventBytesPerSession - 1_024));
    const early = new SessionEvents(budget, "early");
    const first = await early.storeEvent("a", message("one"));
    await early.storeEvent("a", message("two"));
    const greedy = Array.from({ length: 64 }, () => new SessionEvents(budget, "greedy"));
    for (const events of greedy) await events.storeEvent("a", large);
    const late = new SessionEvents(budget, "late");
    const last = await late.storeEvent("a", large);
    expect(budget.bytes).toBeLessThanOrEqual(mcpLimits.eventBytes);
    expect(await replay(early, first)).toEqual([{ text: "two" }]);
    expect(await late.getStreamIdForEventId(last)).toBe("a");
  });
});
