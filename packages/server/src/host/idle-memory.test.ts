import { expect, it } from "vitest";
import { serviceLimits } from "../core/limits.ts";
import { IdleMemory } from "./idle-memory.ts";

it("collects when nothing is done and something is left, and not again for nothing", () => {
  let usedBytes = 100 * serviceLimits.idleGarbageBytes;
  let busy = 1;
  let usedMs = Number.NEGATIVE_INFINITY;
  let collected = 0;
  const collect = () => {
    collected++;
    usedBytes /= 2;
  };
  using memory = new IdleMemory({ collect, busy: () => busy, lastUseMs: () => usedMs, usedBytes: () => usedBytes });
  memory.look();
  expect(collected).toBe(0);
  busy = 0;
  usedMs = performance.now();
  memory.look();
  expect(collected).toBe(0);
  usedMs = performance.now() - serviceLimits.idleLookMs;
  memory.look();
  memory.look();
  expect(collected).toBe(1);
  usedBytes += serviceLimits.idleGarbageBytes;
  memory.look();
  expect(collected).toBe(2);
});
