import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonBounds, JsonScan } from "./json-scan.ts";

const wide: JsonBounds = { values: 1e6, names: 1e6, depth: 100, wordBytes: 1_000 };

interface Shape {
  values: number;
  names: number;
  depth: number;
  wordBytes: number;
}

const written = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Counts the values of a tree of JSON. */
function shapeOf(value: unknown): Shape {
  if (typeof value === "string") return { values: 1, names: 0, depth: 0, wordBytes: 0 };
  if (typeof value !== "object" || value === null) return { values: 1, names: 0, depth: 0, wordBytes: written(value) };
  const names = Array.isArray(value) ? [] : Object.keys(value);
  const parts = Object.values(value).map(shapeOf);
  const sum = (of: (shape: Shape) => number) => parts.reduce((all, part) => all + of(part), 0);
  return {
    values: 1 + names.length + sum(({ values }) => values),
    names: names.length + sum((part) => part.names),
    depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth)),
    wordBytes: Math.max(0, ...names.map((name) => written(name) - 2), ...parts.map((part) => part.wordBytes)),
  };
}

/** Cut into pieces at any places. */
function scan(text: string, bounds: JsonBounds, cuts: readonly number[] = []): JsonScan & { why?: string | undefined } {
  const bytes = Buffer.from(text);
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((one, other) => one - other), bytes.length];
  const found = new JsonScan(bounds);
  let why: string | undefined;
  for (let index = 1; index < at.length; index++) why ??= found.push(bytes.subarray(at[index - 1], at[index]));
  return Object.assign(found, { why });
}

const trees = fc.jsonValue({ maxDepth: 6, stringUnit: "binary" });
const layouts = fc.constantFrom(undefined, 1, "\t", " \r\n ");
const fields = ["values", "names", "depth", "wordBytes"] as const;

describe("[S84] a scan of JSON", () => {
  it("lets every text pass that is within its bounds, and none beyond them, however it comes", () => {
    fc.assert(
      fc.property(trees, layouts, fc.array(fc.nat()), fc.constantFrom(...fields), (tree, layout, cuts, field) => {
        const text = JSON.stringify(tree, null, layout);
        const shape = shapeOf(JSON.parse(text));
        expect(scan(text, shape, cuts).why).toBeUndefined();
        if (shape[field] > 0)
          expect(scan(text, { ...shape, [field]: shape[field] - 1 }, cuts).why).toMatch(/^(more|values nested|a name)/);
      }),
      { numRuns: 2_000 },
    );
  });

  it("lets a long string pass, with all that a string can hold", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2_000 }), (text) => {
        const bounds = { values: 3, names: 1, depth: 1, wordBytes: 1 };
        expect(scan(JSON.stringify({ a: text }), bounds).why).toBeUndefined();
      }),
    );
  });

  it("bears any bytes, and stops at the first that is too much", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        new JsonScan(wide).push(bytes);
      }),
    );
    const begun = new JsonScan({ ...wide, values: 2 });
    expect(begun.push(Buffer.from("[1,"))).toBeUndefined();
    expect(begun.push(Buffer.from("2,"))).toBe("more than 2 values and names");
    expect(begun.push(Buffer.from("3]"))).toBe("more than 2 values and names");
  });

  it.each([
    ["[".repeat(101), /nested more than 100 deep/],
    [`{"${"a".repeat(1_001)}":1}`, /name or number of more than 1000 bytes/],
    ["1".repeat(1_001), /name or number of more than 1000 bytes/],
    ["x".repeat(1_001), /name or number of more than 1000 bytes/],
    [`{${'"a":1,'.repeat(600_000)}}`, /more than 1000000 values and names/],
    ["1 ".repeat(1_000_001), /more than 1000000 values and names/],
  ])("refuses %.12s…", (text, why) => {
    expect(scan(text, wide).why).toMatch(why);
  });

  const spelled = (name: string) =>
    fc
      .array(fc.constantFrom("plain", "lower", "upper"), { minLength: name.length, maxLength: name.length })
      .map((ways) =>
        [...name]
          .map((letter, index) => {
            const hex = letter.charCodeAt(0).toString(16).padStart(4, "0");
            if (ways[index] === "plain") return letter;
            return `\\u${ways[index] === "upper" ? hex.toUpperCase() : hex}`;
          })
          .join(""),
      );

  it("finds names that reach a prototype, in each spelling and at each depth", () => {
    const cuts = fc.array(fc.nat(), { maxLength: 4 });
    fc.assert(
      fc.property(
        spelled("__proto__"),
        spelled("constructor"),
        spelled("prototype"),
        cuts,
        (proto, maker, type, at) => {
          const harms = (text: string) => scan(text, wide, at).namesPrototype;
          expect(harms(`[{"a":1,"${proto}" : {}}]`)).toBe(true);
          expect(harms(`{"a":{"${maker}":{"b":[{}],"${type}":1}}}`)).toBe(true);
          expect(harms(`["${proto}","${maker}",{"${type}":"${proto}","a":"${maker}"}]`)).toBe(false);
          expect(harms(`{"${maker}":{"a":{"${type}":1}},"b":{"${type}":1},"${maker}":1,"c":{"${type}":1}}`)).toBe(
            false,
          );
        },
      ),
    );
  });
});
