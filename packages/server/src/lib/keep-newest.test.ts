import { expect, it } from "vitest";
import { keepNewest } from "./keep-newest.ts";

it("forgets the oldest of a map or a set, and nothing while there is room", () => {
  const map = new Map([..."abcd"].map((name) => [name, 1]));
  keepNewest(map, 4);
  expect(map.size).toBe(4);
  keepNewest(map, 2);
  expect([...map.keys()]).toEqual(["c", "d"]);
  const set = new Set("abc");
  keepNewest(set, 1);
  expect([...set]).toEqual(["c"]);
});
