import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gateLimits } from "./gate-limits.ts";
import { RateLimit } from "./rate-limit.ts";

describe("the rate limit of a sandbox", () => {
  it("holds nobody up that has no limit", () => expect(new RateLimit().take(1e9, 0)).toBe(0));

  it("lets no more through than its rate and one burst, whatever the pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 65_536 }), { minLength: 1, maxLength: 100 }), (pieces) => {
        const limit = new RateLimit();
        limit.bytesPerSecond = 100_000;
        let now = 5_000;
        for (const bytes of pieces) now += limit.take(bytes, now);
        const total = pieces.reduce((sum, bytes) => sum + bytes, 0);
        expect(now - 5_000 + gateLimits.burstMs).toBeGreaterThanOrEqual((total / 100_000) * 1_000 - 0.001);
      }),
    );
  });

  it("is free again after a pause, without saving up", () => {
    const limit = new RateLimit();
    limit.bytesPerSecond = 1_000;
    expect(limit.take(1_000, 0)).toBeCloseTo(900);
    expect(limit.take(50, 60_000)).toBe(0);
    expect(limit.take(1_000, 60_000)).toBeCloseTo(950);
  });
});
