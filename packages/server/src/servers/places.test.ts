import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Places } from "./places.ts";

const never = new AbortController().signal;

describe("the places of a server's instances", () => {
  it("are given in the order of asking: whoever made room gets it", async () => {
    const unused: (() => Promise<void>)[] = [];
    const places = new Places(1, 8, () => unused.shift());
    const first = await places.take(never);
    const order: string[] = [];
    const wait = (name: string) =>
      places.take(never).then((place) => {
        order.push(name);
        return place;
      });
    const second = wait("second");
    const third = wait("third");
    unused.push(async () => {
      first.free();
      await turn();
    });
    places.look();
    (await second).free();
    (await third).free();
    expect(order).toEqual(["second", "third"]);
  });

  it("leave no place taken by a call that has left, and refuse calls past so many that wait", async () => {
    const places = new Places(1, 2, () => undefined);
    const first = await places.take(never);
    const leaving = new AbortController();
    const left = [1, 2].map(() => places.take(leaving.signal));
    await expect(places.take(never)).rejects.toMatchObject({ code: "limit_exceeded" });
    leaving.abort(new Error("gone"));
    for (const one of left) await expect(one).rejects.toThrow("gone");
    const next = places.take(never);
    first.free();
    first.free();
    (await next).free();
    (await places.take(never)).free();
  });
});
