import { describe, expect, it } from "vitest";
import { systemClock } from "../lib/clock.ts";
import { TokenBuckets } from "./token-bucket.ts";

describe("a bucket of tokens", () => {
  it("lets a burst through, then says how long to wait", () => {
    const buckets = new TokenBuckets({
      perSecond: 2,
      burst: 3,
      most: 10,
      clock: { ...systemClock, monotonicMs: () => 0 },
    });
    expect([buckets.take("a"), buckets.take("a"), buckets.take("a"), buckets.take("a")]).toEqual([0, 0, 0, 500]);
    expect(buckets.take("b")).toBe(0);
  });

  it("fills again with time, and never past its size", () => {
    let now = 0;
    const buckets = new TokenBuckets({
      perSecond: 1,
      burst: 2,
      most: 10,
      clock: { ...systemClock, monotonicMs: () => now },
    });
    expect([buckets.take("a"), buckets.take("a"), buckets.take("a")]).toEqual([0, 0, 1000]);
    now = 1000;
    expect([buckets.take("a"), buckets.take("a")]).toEqual([0, 1000]);
    now = 1_000_000;
    expect([buckets.take("a"), buckets.take("a"), buckets.take("a")]).toEqual([0, 0, 1000]);
  });

  it("takes many at once, all or none", () => {
    let now = 0;
    const buckets = new TokenBuckets({
      perSecond: 1,
      burst: 10,
      most: 10,
      clock: { ...systemClock, monotonicMs: () => now },
    });
    expect([buckets.take("a", 8), buckets.take("a", 4), buckets.take("a", 2)]).toEqual([0, 2000, 0]);
    now = 10_000;
    expect([buckets.take("a", 30), buckets.take("a")]).toEqual([0, 21_000]);
  });

  it("remembers only so many names", () => {
    const buckets = new TokenBuckets({
      perSecond: 1,
      burst: 1,
      most: 2,
      clock: { ...systemClock, monotonicMs: () => 0 },
    });
    for (const name of ["a", "b", "c"]) buckets.take(name);
    expect(buckets.take("b")).toBeGreaterThan(0);
    expect(buckets.take("a")).toBe(0);
  });
});
