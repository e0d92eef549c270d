import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { compileLimits } from "../core/compile-limits.ts";
import { CompileInCalm } from "./compile-in-calm.ts";

const { atOnce, pauseMs, betweenMs } = compileLimits;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function prepare() {
  const told: boolean[] = [];
  return { told, calm: new CompileInCalm({ compile: (may) => told.push(may) }) };
}

it("compiles nothing for a while when many are served at once, and then again", () => {
  const { told, calm } = prepare();
  using _ = calm;
  for (let count = 1; count < atOnce; count++) calm.begin(count);
  expect(told).toEqual([]);
  calm.begin(atOnce);
  calm.begin(atOnce + 1);
  expect(told).toEqual([false]);
  vi.advanceTimersByTime(pauseMs);
  expect(told).toEqual([false, true]);
});

it("goes on most of the time where many are served all the time", () => {
  const { told, calm } = prepare();
  using _ = calm;
  const rounds = 5;
  for (let passedMs = 0; passedMs < rounds * (pauseMs + betweenMs); passedMs++) {
    calm.begin(10 * atOnce);
    vi.advanceTimersByTime(1);
  }
  expect(told).toEqual(Array.from({ length: rounds }, () => [false, true]).flat());
});
