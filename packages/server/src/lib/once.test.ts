import { describe, expect, it } from "vitest";
import { Once } from "./once.ts";

describe("a thing made once", () => {
  it("is made for the first who asks and given to all", async () => {
    const once = new Once<number>();
    let made = 0;
    expect(once.begun).toBe(false);
    expect(await Promise.all([once.get(async () => ++made), once.get(async () => ++made)])).toEqual([1, 1]);
    expect(once.begun).toBe(true);
  });

  it("is tried again after a failure", async () => {
    const once = new Once<number>();
    await expect(once.get(() => Promise.reject(new Error("not yet")))).rejects.toThrow("not yet");
    expect(once.begun).toBe(false);
    expect(await once.get(async () => 2)).toBe(2);
  });
});
