import { describe, expect, it } from "vitest";
import { AppError } from "../core/errors.ts";
import { systemClock } from "../lib/clock.ts";
import { httpLimits } from "./limits.ts";
import { allReady, seldom } from "./readiness.ts";

describe("readiness", () => {
  it("names the parts that are not ready, and tells why to nobody but the log", async () => {
    const told: unknown[] = [];
    const broken = async () => {
      throw new Error("secret detail");
    };
    const ready = allReady({ engine: async () => undefined, store: broken }, (error) => told.push(error));
    await expect(ready()).rejects.toMatchObject({ code: "unavailable", message: "not ready: store" });
    expect(told.map(String)).toEqual(["Error: secret detail"]);
    await allReady({ engine: async () => undefined }, () => undefined)();
  });

  it("is asked for once at a time, and its answer holds for a moment", async () => {
    let asked = 0;
    let nowMs = 0;
    let gate = Promise.withResolvers<void>();
    const ready = seldom(
      () => {
        asked++;
        return gate.promise;
      },
      { ...systemClock, monotonicMs: () => nowMs },
    );
    const both = [ready(), ready()];
    nowMs = 10 * httpLimits.readyHoldsMs;
    const third = ready();
    expect(asked).toBe(1);
    gate.resolve();
    await Promise.all([...both, third]);
    gate = Promise.withResolvers();
    gate.reject(new AppError("unavailable", "ill"));
    await ready();
    expect(asked).toBe(1);
    nowMs += httpLimits.readyHoldsMs + 1;
    await expect(ready()).rejects.toThrow("ill");
    await expect(ready()).rejects.toThrow("ill");
    expect(asked).toBe(2);
  });
});
