import { expect, it } from "vitest";
import { Recent } from "./recent.ts";

it("forgets what was not used for longest, and nothing while there is room", () => {
  const recent = new Recent<number>(2);
  recent.set("a", 1);
  recent.set("b", 2);
  expect(recent.get("a")).toBe(1);
  recent.set("c", 3); // b goes: a was used since
  expect([recent.get("a"), recent.get("b"), recent.get("c")]).toEqual([1, undefined, 3]);
  recent.set("c", 4);
  recent.get("a");
  recent.set("d", 5);
  expect([recent.get("c"), recent.get("a"), recent.get("d")]).toEqual([undefined, 1, 5]);
});

it("does not take what was deleted and put in again for what was used last", () => {
  const recent = new Recent<number>(2);
  recent.set("a", 1);
  recent.delete("a");
  recent.set("b", 2);
  recent.set("a", 3);
  recent.get("a");
  recent.set("c", 4);
  expect([recent.get("a"), recent.get("b"), recent.get("c")]).toEqual([3, undefined, 4]);
});
