import { describe, expect, it } from "vitest";
import { AddressCache } from "./address-cache.ts";
import { gateLimits } from "./gate-limits.ts";

describe("addresses that are remembered", () => {
  function cache(ttlMs: number) {
    const asked: string[] = [];
    let now = 0;
    const memory = new AddressCache(
      async (name) => {
        asked.push(name);
        if (name === "none") throw new Error("no such name");
        return { addresses: [`10.0.0.${asked.length}`], ttlMs };
      },
      () => now,
    );
    const pass = (ms: number) => {
      now += ms;
    };
    return { asked, resolve: (name: string) => memory.resolve(name), pass };
  }

  it("hold as long as their server says, and are asked for once by many", async () => {
    const { asked, resolve, pass } = cache(1_000);
    expect(await Promise.all([resolve("a"), resolve("a")])).toEqual([["10.0.0.1"], ["10.0.0.1"]]);
    pass(999);
    expect(await resolve("a")).toEqual(["10.0.0.1"]);
    pass(1);
    expect(await resolve("a")).toEqual(["10.0.0.2"]);
    expect(asked).toEqual(["a", "a"]);
  });

  it("hold for no longer than is set, and not at all where nothing was found", async () => {
    const { asked, resolve, pass } = cache(86_400_000);
    await resolve("a");
    pass(gateLimits.rememberedMs);
    await resolve("a");
    for (const _ of [1, 2]) await expect(resolve("none")).rejects.toThrow("no such name");
    expect(asked).toEqual(["a", "a", "none", "none"]);
  });

  it("are bounded in number: the oldest is forgotten", async () => {
    const { asked, resolve } = cache(1_000);
    for (let i = 0; i <= gateLimits.remembered; i++) await resolve(`n${i}`);
    await resolve("n1");
    expect(asked.length).toBe(gateLimits.remembered + 1);
    await resolve("n0");
    expect(asked.length).toBe(gateLimits.remembered + 2);
  });
});
