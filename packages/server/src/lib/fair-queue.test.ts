import { expect, it } from "vitest";
import { FairQueue } from "./fair-queue.ts";

it("lets nobody take all the turns, or all the room", () => {
  const queue = new FairQueue<{ owner: string; name: string }>({ all: 5, each: 3 });
  const ask = (owner: string, name: string) => {
    if (!queue.hasRoom(owner)) return false;
    queue.push({ owner, name });
    return true;
  };
  expect(["a1", "a2", "a3", "a4"].map((name) => ask("a", name))).toEqual([true, true, true, false]);
  expect(["b1", "b2", "b3"].map((name) => ask("b", name))).toEqual([true, true, false]);
  expect([queue.take(), queue.take(), queue.take()].map((one) => one?.name)).toEqual(["a1", "b1", "a2"]);
  queue.end("b");
  expect(queue.take()?.name).toBe("b2");
  for (const owner of ["a", "a", "b"]) queue.end(owner);
  expect([queue.take()?.name, queue.take(), queue.length]).toEqual(["a3", undefined, 0]);
  queue.end("a");
  for (const name of ["a5", "a6"]) ask("a", name);
  expect(queue.take()?.name).toBe("a5");
  ask("b", "b4");
  queue.end("a");
  expect(queue.take()?.name).toBe("b4");
});
