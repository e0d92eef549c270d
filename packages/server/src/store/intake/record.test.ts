import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeRecord, encodeRecord, recordBytes } from "./record.ts";

const salts = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const records = fc.record({
  number: fc.integer({ min: 1, max: 2 ** 48 - 1 }),
  text: fc.string({ unit: "grapheme", minLength: 1, maxLength: 200 }),
});

describe("a record of the intake", () => {
  it("is read as it was written, whatever follows it", () => {
    fc.assert(
      fc.property(salts, records, fc.nat(40), fc.uint8Array({ maxLength: 40 }), (salt, record, offset, rest) => {
        const buffer = Buffer.alloc(offset + recordBytes(record.text.length));
        const size = encodeRecord(buffer, offset, salt, record);
        const source = Buffer.concat([buffer.subarray(offset, offset + size), rest]);
        expect(decodeRecord(source, salt)).toEqual({ ...record, size });
      }),
    );
  });

  it("is none when it is cut short, when a bit of it is another, or by another salt", () => {
    fc.assert(
      fc.property(salts, records, fc.nat(), fc.nat(7), (salt, record, at, bit) => {
        const buffer = Buffer.alloc(recordBytes(record.text.length));
        const source = buffer.subarray(0, encodeRecord(buffer, 0, salt, record));
        expect(decodeRecord(source.subarray(0, at % source.length), salt)).toBeUndefined();
        expect(decodeRecord(source, salt === 1 ? 2 : salt - 1)).toBeUndefined();
        source[at % source.length] = (source[at % source.length] ?? 0) ^ (1 << bit);
        expect(decodeRecord(source, salt)).toBeUndefined();
      }),
    );
  });

  it("is none where there are zeros, or nothing", () => {
    expect(decodeRecord(Buffer.alloc(4096), 0)).toBeUndefined();
    expect(decodeRecord(Buffer.alloc(0), 0)).toBeUndefined();
  });
});
