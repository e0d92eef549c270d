import { describe, expect, it } from "vitest";
import { systemClock } from "../lib/clock.ts";
import { OneTimeTokens } from "./one-time-tokens.ts";

describe("a one-time token", () => {
  it("is good once", () => {
    const tokens = new OneTimeTokens<string>({ lifetimeMs: 1000, most: 4, clock: { ...systemClock, wallMs: () => 0 } });
    const { token } = tokens.issue("it");
    expect(tokens.redeem("something else")).toBeUndefined();
    expect([tokens.redeem(token), tokens.redeem(token)]).toEqual(["it", undefined]);
  });

  it("is good for its time only", () => {
    let now = 0;
    const tokens = new OneTimeTokens<string>({
      lifetimeMs: 1000,
      most: 4,
      clock: { ...systemClock, wallMs: () => now },
    });
    const [early, late] = [tokens.issue("it").token, tokens.issue("it").token];
    now = 999;
    expect(tokens.redeem(early)).toBe("it");
    now = 1000;
    expect(tokens.redeem(late)).toBeUndefined();
  });

  it("gives way to newer ones past their number", () => {
    const tokens = new OneTimeTokens<number>({ lifetimeMs: 1000, most: 2, clock: { ...systemClock, wallMs: () => 0 } });
    const issued = [1, 2, 3].map((value) => tokens.issue(value).token);
    expect(issued.map((token) => tokens.redeem(token))).toEqual([undefined, 2, 3]);
  });
});
