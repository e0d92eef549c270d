import { describe, expect, it } from "vitest";
import { flag, matching, oneOf, optional, shape, within } from "./shape.ts";

const check = shape<{ id: string; size: number; kind: "a" | "b"; keep?: boolean }>({
  id: matching(/^[a-z]{4}$/),
  size: within({ default: 1, min: 1, max: 8 }),
  kind: oneOf<"a" | "b">(["a", "b"]),
  keep: optional(flag),
});
const good = { id: "abcd", size: 8, kind: "a" };

describe("a shape", () => {
  it("gives back what it checked, and nothing else", () => {
    expect(check(good, "it")).toEqual(good);
    expect(check({ ...good, keep: true }, "it")).toEqual({ ...good, keep: true });
    expect(check(Object.assign(Object.create({ extra: 1 }), good), "it")).toEqual(good);
  });

  it.each<[string, unknown]>([
    ["nothing", null],
    ["a list", [good]],
    ["a text", "abcd"],
    ["a field too many", { ...good, more: 1 }],
    ["a field of its prototype", Object.create(good)],
    ["a field missing", { id: "abcd", size: 1 }],
    ["an id of another form", { ...good, id: "../x" }],
    ["an id that is a list", { ...good, id: ["abcd"] }],
    ["a number that is text", { ...good, size: "1" }],
    ["a number that is none", { ...good, size: Number.NaN }],
    ["a fraction", { ...good, size: 1.5 }],
    ["a number past its range", { ...good, size: 9 }],
    ["a word that is not on the list", { ...good, kind: "c" }],
    ["a flag that is a number", { ...good, keep: 1 }],
    ["a __proto__", JSON.parse('{"__proto__":{},"id":"abcd","size":1,"kind":"a"}')],
  ])("refuses %s", (_what, value) => {
    expect(() => check(value, "it")).toThrow(expect.objectContaining({ code: "invalid" }));
  });

  it("takes fractions only where it is told to", () => {
    const share = within({ default: 1, min: 0.1, max: 2 }, false);
    expect(share(0.5, "it")).toBe(0.5);
    expect(() => share(Number.POSITIVE_INFINITY, "it")).toThrow("not a number");
  });
});
