import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { mcpLimits } from "../core/mcp-limits.ts";
import { SessionEvents } from "./event-store.ts";

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
    const events = new SessionEvents({ bytes: 0 });
    const first = await events.storeEvent("a", {} as JSONRPCMessage);
    await events.storeEvent("b", message("other"));
    const second = await events.storeEvent("a", message("one"));
    await events.storeEvent("a", message("two"));
    expect(await replay(events, first)).toEqual([{ text: "one" }, { text: "two" }]);
    expect(await replay(events, second)).toEqual([{ text: "two" }]);
    expect(await events.getStreamIdForEventId(second)).toBe("a");
  });

  it("are refused where the oldest made room, never told with a gap", async () => {
    const events = new SessionEvents({ bytes: 0 });
    const first = await events.storeEvent("a", message("one"));
    for (let count = 0; count < mcpLimits.eventsPerSession; count++) await events.storeEvent("a", message("more"));
    expect(await events.getStreamIdForEventId(first)).toBeUndefined();
    await expect(replay(events, first)).rejects.toThrow("not kept");
  });

  it("take no more memory than a session has, and all sessions together", async () => {
    const budget = { bytes: 0 };
    const sessions = Array.from({ length: 40 }, () => new SessionEvents(budget));
    const large = message("x".repeat(mcpLimits.eventBytesPerSession / 2));
    for (const events of sessions)
      for (let count = 0; count < 4; count++) {
        await events.storeEvent("a", large);
        expect(budget.bytes).toBeLessThanOrEqual(mcpLimits.eventBytes);
      }
    const alone = { bytes: 0 };
    const events = new SessionEvents(alone);
    for (let count = 0; count < 8; count++) await events.storeEvent("a", large);
    expect(alone.bytes).toBeLessThanOrEqual(mcpLimits.eventBytesPerSession);
    await events.storeEvent("a", message("x".repeat(mcpLimits.eventBytesPerSession * 2)));
    events.clear();
    expect(alone.bytes).toBe(0);
  });
});
