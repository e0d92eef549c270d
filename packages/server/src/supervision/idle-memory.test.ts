import { expect, it } from "vitest";
import { IdleMemory } from "./idle-memory.ts";
import { idleMemoryLimits } from "./idle-memory-limits.ts";

it("collects when nothing is done and something is left, and not again for nothing", () => {
  let usedBytes = 100 * idleMemoryLimits.garbageBytes;
  let busy = 1;
  let unusedMs = 0;
  let collected = 0;
  const collect = () => {
    collected++;
    usedBytes /= 2;
  };
  using memory = new IdleMemory({ collect, busy: () => busy, unusedMs: () => unusedMs, usedBytes: () => usedBytes });
  memory.look();
  expect(collected).toBe(0);
  busy = idleMemoryLimits.share.unused;
  memory.look();
  expect(collected).toBe(0);
  unusedMs = idleMemoryLimits.lookMs;
  memory.look();
  memory.look();
  expect(collected).toBe(1);
  usedBytes += idleMemoryLimits.garbageBytes;
  memory.look();
  expect(collected).toBe(2);
});
