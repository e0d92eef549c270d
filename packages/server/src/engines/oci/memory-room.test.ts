import { describe, expect, it } from "vitest";
import { checkpointLimits } from "../../core/fork-limits.ts";
import { MemoryRoom, mostHeldBytes, readSwappedBytes } from "./memory-room.ts";

const { hostMemoryBytes } = checkpointLimits;

describe("memory that is promised", () => {
  it("[S76] is never more than the machine can spare, however many ask at once, and is there again when given back", () => {
    const room = new MemoryRoom(() => hostMemoryBytes + 100);
    const held = [room.reserve(40, "one"), room.reserve(60, "two")];
    expect(() => room.reserve(1, "three")).toThrow(
      expect.objectContaining({
        code: "limit_exceeded",
        hint: expect.stringContaining("copy only the files"),
        retryAfterMs: expect.any(Number),
      }),
    );
    held[0]?.[Symbol.dispose]();
    held[0]?.[Symbol.dispose](); // once is enough
    expect(room.promisedBytes).toBe(60);
    using again = room.reserve(40, "three");
    expect(() => room.reserve(1, "four")).toThrow("not enough memory for four");
    expect(again).toBeDefined();
  });

  it("leaves the host what is the host's", () => {
    const room = new MemoryRoom(() => hostMemoryBytes);
    expect(() => room.reserve(1, "one")).toThrow("not enough memory");
  });

  it("is for what a sandbox may have, in memory and on swap, and for all it may ever have where nobody counts", () => {
    expect(mostHeldBytes(100, 1_000, 0)).toBe(100);
    expect(mostHeldBytes(100, 1_000, 50)).toBe(150);
    expect(mostHeldBytes(100, 1_000, 10 ** 9)).toBe(1_100);
    expect(mostHeldBytes(0, 1_000, 0)).toBe(1_000);
    expect(readSwappedBytes()).toBeGreaterThanOrEqual(0);
  });

  it("is asked of the kernel where nothing else is said", () => {
    using small = new MemoryRoom().reserve(1, "a byte");
    expect(small).toBeDefined();
    expect(() => new MemoryRoom().reserve(2 ** 60, "more than any machine has")).toThrow("not enough memory");
  });
});
