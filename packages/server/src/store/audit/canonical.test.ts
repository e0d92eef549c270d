import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuditValue } from "../../core/audit.ts";
import { canonical, canonicalRow, storable } from "./canonical.ts";

// Keys that differ only in what cannot be kept would become one.
const key = fc.string({ unit: "binary" }).map(storable);
const { value } = fc.letrec<{ value: AuditValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, -0, 0, 1e21, 5e-324, "\0", "\ud800", "é\u{1f600}"),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.string({ unit: "binary" }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4 }),
  ),
}));

/** The same, with keys put in in another order. */
function shuffled(item: AuditValue): AuditValue {
  if (Array.isArray(item)) return item.map(shuffled);
  if (typeof item !== "object" || item === null) return item;
  return Object.fromEntries(
    Object.entries(item)
      .reverse()
      .map(([key, inner]) => [key, shuffled(inner)]),
  );
}

describe("the canonical form", () => {
  it("is the same for the same value, in whatever order its keys came", () => {
    fc.assert(
      fc.property(value, (item) => {
        expect(canonical(shuffled(item))).toBe(canonical(item));
      }),
    );
  });

  it("is JSON that says the value, and comes out of itself again", () => {
    fc.assert(
      fc.property(value, (item) => {
        const text = canonical(item);
        expect(canonical(JSON.parse(text))).toBe(text);
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toContain("\0");
      }),
    );
  });

  it("differs for values that differ", () => {
    fc.assert(
      fc.property(value, value, (left, right) => {
        const same = canonical(left) === canonical(right);
        expect(same).toBe(canonical(JSON.parse(canonical(left))) === canonical(JSON.parse(canonical(right))));
        if (typeof left === "number" && typeof right === "number") expect(same).toBe(left === right);
      }),
    );
  });

  it("is what RFC 8785 says", () => {
    const item = { numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0], "\u20ac": "€\n\u000f", "1": {}, a: [] };
    expect(canonical(item)).toBe(
      '{"1":{},"a":[],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],"€":"€\\n\\u000f"}',
    );
  });

  it.each([
    ["a number without end", Number.POSITIVE_INFINITY],
    ["what is no number", Number.NaN],
    ["a function", () => 1],
    ["a big integer", 1n],
  ])("refuses %s", (_what, item) => {
    expect(() => canonical({ item } as never)).toThrow(expect.objectContaining({ code: "invalid" }));
  });

  it("refuses what is nested too deeply", () => {
    let deep: AuditValue = 1;
    for (let depth = 0; depth < 20; depth++) deep = [deep];
    expect(() => canonical(deep)).toThrow(expect.objectContaining({ code: "invalid" }));
  });

  it("of a row is that of its fields", () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.string()), value, (name, sandboxId, inner) => {
        const detail = { inner };
        const row = {
          sequence: 3,
          atMs: 17,
          type: storable(name),
          namespace: "n",
          actor: 'a"',
          sandboxId: sandboxId === null ? null : storable(sandboxId),
          requestId: null,
          runId: "run_1",
        };
        expect(canonicalRow({ ...row, detail: canonical(detail) })).toBe(canonical({ ...row, detail }));
      }),
    );
  });
});
