import { expect, it } from "vitest";
import { CallCounts } from "./call-stats.ts";
import { gatewayLimits } from "./limits.ts";

it("[OBS-01] calls of a server are counted, with percentiles of the newest", () => {
  const counts = new CallCounts();
  for (let ms = 100; ms >= 1; ms--) counts.add("one", ms, ms % 10 === 0);
  counts.add("other", 5, true);
  expect(counts.of("one")).toEqual({ calls: 100, errors: 10, p50Ms: 50, p95Ms: 95, p99Ms: 99 });
  expect(counts.of("other")).toEqual({ calls: 1, errors: 1, p50Ms: 5, p95Ms: 5, p99Ms: 5 });
  expect(counts.of("none")).toEqual({ calls: 0, errors: 0, p50Ms: null, p95Ms: null, p99Ms: null });
  for (let count = 0; count < gatewayLimits.measuredCalls; count++) counts.add("one", 7, false);
  expect(counts.of("one")).toMatchObject({ calls: 100 + gatewayLimits.measuredCalls, p50Ms: 7, p99Ms: 7 });
});

it("servers that are counted are so many, the one that was used last among them", () => {
  const counts = new CallCounts();
  counts.add("used", 1, false);
  for (let count = 0; count < gatewayLimits.countedServers; count++) {
    counts.add(`server ${count}`, 1, false);
    if (count === 5) counts.add("used", 1, false);
  }
  expect(counts.of("used").calls).toBe(2);
  expect(counts.of("server 0").calls).toBe(0);
});
