import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { gatewayLimits } from "./limits.ts";
import { PendingRequest } from "./pending-request.ts";

const { quietMs, callMs } = gatewayLimits;
const open = (changes: object = {}) =>
  new PendingRequest({
    peer: { hear: () => undefined },
    id: 1,
    token: "t",
    endless: false,
    mostMs: undefined,
    ...changes,
  });

describe("[S133] a request that is under way", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("ends when its server makes no progress for long, and the server hears of that", async () => {
    const request = open();
    vi.advanceTimersByTime(quietMs - 1);
    expect(request.isSettled).toBe(false);
    vi.advanceTimersByTime(1);
    await expect(request.answer).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("unknown"),
    });
    expect([request.isLeft, request.over.aborted, vi.getTimerCount()]).toEqual([true, true, 0]);
  });

  it("goes on with progress, but not without end", async () => {
    const request = open();
    for (let passedMs = 0; passedMs < callMs - quietMs; passedMs += quietMs / 2) {
      vi.advanceTimersByTime(quietMs / 2);
      request.touch();
    }
    expect(request.isSettled).toBe(false);
    for (let count = 0; count < 4; count++) {
      vi.advanceTimersByTime(quietMs / 2);
      request.touch();
    }
    await expect(request.answer).rejects.toMatchObject({ code: "timeout" });
  });

  it("is not counted as quiet while its server waits for an answer of the client", async () => {
    const request = open();
    request.pause();
    vi.advanceTimersByTime(quietMs * 5);
    expect(request.isSettled).toBe(false);
    request.resume();
    vi.advanceTimersByTime(quietMs);
    await expect(request.answer).rejects.toMatchObject({ code: "timeout" });
  });

  it("settles once, and leaves no timer", async () => {
    const request = open();
    request.settle({ jsonrpc: "2.0", id: 1, result: {} });
    request.fail(new Error("late"));
    expect(await request.answer).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    expect([request.isLeft, vi.getTimerCount()]).toEqual([false, 0]);
  });

  it("has no limit if it is a stream", () => {
    const request = open({ endless: true });
    vi.advanceTimersByTime(callMs * 10);
    expect([request.isSettled, vi.getTimerCount()]).toEqual([false, 0]);
  });
});
