import { describe, expect, it } from "vitest";
import { parseChanges } from "./changes.ts";

const hash = "a".repeat(64);

describe("the list of changes that the helper writes", () => {
  it("is read with spaces, newlines and foreign bytes in names", () => {
    const bytes = Buffer.concat([
      Buffer.from(`c 3 ${hash} a b\nc\0`),
      Buffer.from("m 0 - "),
      Buffer.from([0x61, 0xff, 0]),
      Buffer.from("d 0 - x/y\0"),
    ]);
    expect(parseChanges(bytes)).toEqual([
      { action: "created", path: "a b\nc", size_bytes: 3, sha256: hash },
      { action: "modified", path: "a\uFFFD", size_bytes: 0, sha256: null },
      { action: "deleted", path: "x/y", size_bytes: 0, sha256: null },
    ]);
  });

  it.each(["c 3 - cut short", "x 1 - a\0", "c one - a\0"])("is refused when it is %j", (text) => {
    expect(() => parseChanges(Buffer.from(text))).toThrow(/list of changed files/);
  });
});
