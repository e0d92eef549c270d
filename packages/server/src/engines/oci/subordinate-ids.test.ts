import { describe, expect, it } from "vitest";
import { findSubordinateIds, suggestSubordinateIds } from "./subordinate-ids.ts";

const list = "# people\nann:100000:65536\nbob:165536:65536\n1007:300000:1000\nbob:400000:131072\n\nbroken:x:1\neve::\n";

describe("subordinate ids", () => {
  it("are found by name and by number, the largest range first", () => {
    expect(findSubordinateIds(list, "ann", 1000)).toEqual({ start: 100_000, count: 65_536 });
    expect(findSubordinateIds(list, "bob", 1001)).toEqual({ start: 400_000, count: 131_072 });
    expect(findSubordinateIds(list, "zoe", 1007)).toEqual({ start: 300_000, count: 1000 });
  });

  it("are nobody's where no line is readable", () => {
    for (const name of ["broken", "eve", "an", "ann:100000", ""])
      expect(findSubordinateIds(list, name, 9)).toBeUndefined();
    expect(findSubordinateIds("", "ann", 1000)).toBeUndefined();
  });

  it("are suggested where nobody has any", () => {
    expect(suggestSubordinateIds(list, "", "zoe")).toBe(
      "usermod --add-subuids 531072-596607 --add-subgids 531072-596607 zoe",
    );
    expect(suggestSubordinateIds("", "ann:200000:65536", "zoe")).toContain("--add-subgids 265536-331071 zoe");
    expect(suggestSubordinateIds("", "", "zoe")).toContain("--add-subuids 100000-165535");
  });
});
