import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { HeldBodies } from "./held-bodies.ts";
import { httpLimits } from "./limits.ts";

const { heldBytesPerKey, heldBytes } = httpLimits;

const refusal = expect.objectContaining({ code: "limit_exceeded", retryAfterMs: 1_000 });

it("[S94] bodies of one key take no more memory than its share", () => {
  const bodies = new HeldBodies();
  const owner = { id: "a", namespace: "a" };
  bodies.add(owner, heldBytesPerKey);
  expect(() => bodies.add(owner, 1)).toThrow(refusal);
  bodies.add({ id: "b", namespace: "a" }, 1);
  bodies.release(owner, 1);
  bodies.add(owner, 1);
  expect(() => bodies.add(owner, 1)).toThrow(refusal);
});

it("[S94] bodies of one namespace, by however many keys, leave room for others, and so do those of many namespaces", () => {
  const bodies = new HeldBodies();
  const MiB = 1024 ** 2;
  const fill = (namespace: string) => {
    let held = 0;
    for (let key = 0; key < 4; key++)
      try {
        for (;;) {
          bodies.add({ id: `${namespace} ${key}`, namespace }, MiB);
          held += MiB;
        }
      } catch (error) {
        expect(error).toEqual(refusal);
      }
    return held;
  };
  const shares = ["a", "b", "c", "d", "e"].map(fill);
  expect(shares).toEqual([2, 4, 8, 16, 32].map((part) => heldBytes / part));
  const late = { id: "late", namespace: "late" };
  bodies.add(late, 4 * MiB);
  expect(() => bodies.add(late, 1)).toThrow(refusal);
  bodies.release({ id: "a 0", namespace: "a" }, heldBytesPerKey);
  bodies.add(late, 24 * MiB);
  expect(fill("a")).toBeLessThan(heldBytesPerKey);
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
