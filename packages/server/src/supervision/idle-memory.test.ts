import { expect, it } from "vitest";
import { idleLimits } from "./idle-limits.ts";
import { IdleMemory } from "./idle-memory.ts";

it("collects when nothing is done and something is left, and not again for nothing", () => {
  let usedBytes = 100 * idleLimits.garbageBytes;
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
  busy = idleLimits.share.unused;
  memory.look();
  expect(collected).toBe(0);
  unusedMs = idleLimits.lookMs;
  memory.look();
  memory.look();
  expect(collected).toBe(1);
  usedBytes += idleLimits.garbageBytes;
  memory.look();
  expect(collected).toBe(2);
});
