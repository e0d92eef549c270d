import { describe, expect, it } from "vitest";
import { EventParser } from "./watch.ts";

describe("the helper's events", () => {
  it("are read however they are cut", () => {
    const bytes = Buffer.from("r\0ca/b\0md\0vto\0from/x\0o\0dgone\n\0");
    const whole = [...new EventParser().push(bytes)];
    expect(whole).toEqual([
      { type: "created", path: "a/b" },
      { type: "changed", path: "d" },
      { type: "moved", path: "to", from: "from/x" },
      { type: "overflow", path: "" },
      { type: "deleted", path: "gone\n" },
    ]);
    const parser = new EventParser();
    expect([...bytes].flatMap((byte) => [...parser.push(Buffer.from([byte]))])).toEqual(whole);
  });

  it("are refused when they are none", () => {
    expect(() => [...new EventParser().push(Buffer.from("xpath\0"))]).toThrow("not readable");
    expect(() => [...new EventParser().push(Buffer.alloc(10_000, "c"))]).toThrow("not readable");
  });
});
