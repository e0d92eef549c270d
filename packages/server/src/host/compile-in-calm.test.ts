import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { compileLimits } from "../core/compile-limits.ts";
import { CompileInCalm } from "./compile-in-calm.ts";

const { atOnce, withinMs, pauseMs, betweenMs } = compileLimits;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function prepare() {
  const told: string[] = [];
  return { told, calm: new CompileInCalm((runs) => told.push(runs)) };
}

it("compiles no sooner than usual for a while when many come at once, and then soon again", () => {
  const { told, calm } = prepare();
  using _ = calm;
  for (let count = 1; count < atOnce; count++) calm.begin(count / atOnce);
  expect(told).toEqual([]);
  calm.begin(withinMs);
  calm.begin(withinMs);
  expect(told).toEqual(["usual"]);
  vi.advanceTimersByTime(pauseMs);
  expect(told).toEqual(["usual", "soon"]);
});

it("goes on for those that come one after the other, however long they take", () => {
  const { told, calm } = prepare();
  using _ = calm;
  for (let count = 0; count < 3 * atOnce; count++) calm.begin((count * (withinMs + 1)) / (atOnce - 1));
  expect(told).toEqual([]);
});

it("goes on most of the time where many come all the time", () => {
  const { told, calm } = prepare();
  using _ = calm;
  const rounds = 5;
  for (let nowMs = 0; nowMs < rounds * (pauseMs + betweenMs); nowMs++) {
    calm.begin(nowMs);
    vi.advanceTimersByTime(1);
  }
  expect(told).toEqual(Array.from({ length: rounds }, () => ["usual", "soon"]).flat());
});
