import { describe, expect, it } from "vitest";
import { parseRange } from "./byte-range.ts";

describe("a range of bytes", () => {
  it.each([
    ["bytes=0-0", { offset: 0, length: 1 }],
    ["bytes=2-5", { offset: 2, length: 4 }],
    ["bytes=7-", { offset: 7, length: 3 }],
    ["bytes=-4", { offset: 6, length: 4 }],
    ["bytes=-99", { offset: 0, length: 10 }],
    ["bytes=8-99", { offset: 8, length: 2 }],
  ])("%s of ten is %j", (header, range) => {
    expect(parseRange(header, 10)).toEqual(range);
  });

  it.each([undefined, "", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,3-4", "lines=1-2", "bytes=a-b"])(
    "%s is none",
    (header) => expect(parseRange(header, 10)).toBeUndefined(),
  );

  it.each(["bytes=10-", "bytes=99-100", "bytes=-0"])("%s of ten cannot be satisfied", (header) => {
    expect(() => parseRange(header, 10)).toThrow(/does not reach/);
  });
});
