import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { httpLimits } from "../core/http-limits.ts";
import { HeldBodies } from "./held-bodies.ts";

const { heldBytesPerKey, heldBytes } = httpLimits;

it("[S94] bodies of one key take no more memory than its share, and all no more than all may", () => {
  const bodies = new HeldBodies();
  bodies.add("a", heldBytesPerKey);
  expect(() => bodies.add("a", 1)).toThrow(expect.objectContaining({ code: "limit_exceeded", retryAfterMs: 1_000 }));
  const others = Math.floor(heldBytes / heldBytesPerKey);
  for (let n = 1; n < others; n++) bodies.add(`other ${n}`, heldBytesPerKey);
  expect(() => bodies.add("b", heldBytes - others * heldBytesPerKey + 1)).toThrow("too many large requests");
  bodies.release("a", heldBytesPerKey);
  bodies.add("b", heldBytesPerKey);
  bodies.release("b", heldBytesPerKey - 1);
  bodies.add("b", heldBytesPerKey - 1);
  expect(() => bodies.add("b", 1)).toThrow("too many large requests");
});

it("[S94] what else waits has its turn between two large bodies", async () => {
  const bodies = new HeldBodies();
  const seen: string[] = [];
  const parsed = ["one", "two", "three"].map((name) => bodies.turn().then(() => seen.push(name)));
  for (const name of ["a", "b", "c"]) {
    await setImmediate();
    seen.push(name);
  }
  await Promise.all(parsed);
  for (const [one, other] of [
    ["one", "two"],
    ["two", "three"],
  ] as const)
    expect(seen.slice(seen.indexOf(one) + 1, seen.indexOf(other)).length).toBeGreaterThan(0);
});
