import { expect, it } from "vitest";
import { webLimits } from "../limits.ts";
import { Health } from "./health.ts";

it("rests a provider for longer each time it fails, in its own namespace, until it answers", () => {
  let nowMs = 0;
  const health = new Health(() => nowMs);
  const { first, most } = webLimits.restMs;
  expect(health.failed("a", "mojeek", "why", false)).toBe(first);
  expect(health.resting("a", "mojeek")).toEqual({ forMs: first, reason: "why" });
  expect([health.resting("b", "mojeek"), health.resting("a", "yandex")]).toEqual([undefined, undefined]);
  nowMs += first;
  expect(health.resting("a", "mojeek")).toBeUndefined();
  expect(health.failed("a", "mojeek", "why", false)).toBe(2 * first);
  expect(health.failed("a", "mojeek", "why", true)).toBe(webLimits.captchaRestMs);
  for (let i = 0; i < 10; i++) health.failed("a", "mojeek", "why", false);
  expect(health.resting("a", "mojeek")?.forMs).toBe(most);
  health.answered("a", "mojeek");
  expect(health.resting("a", "mojeek")).toBeUndefined();
  expect(health.failed("a", "mojeek", "why", false)).toBe(first);
});
