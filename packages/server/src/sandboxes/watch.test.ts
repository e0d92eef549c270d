import { describe, expect, it } from "vitest";
import type { FileEvent } from "../core/watch.ts";
import { seenFrom } from "./watch.ts";

const moved = (from: string, path: string): FileEvent => ({ type: "moved", path, from });

describe("an event seen from a folder", () => {
  it.each([
    ["inside", { type: "created", path: "a/b/c" }, { type: "created", path: "b/c" }],
    ["beside", { type: "created", path: "ab/c" }, undefined],
    ["the folder itself", { type: "deleted", path: "a" }, undefined],
    ["moved inside", moved("a/x", "a/y"), moved("x", "y")],
    ["moved in", moved("x", "a/y"), { type: "created", path: "y" }],
    ["moved out", moved("a/x", "y"), { type: "deleted", path: "x" }],
    ["moved elsewhere", moved("x", "y"), undefined],
    ["an overflow", { type: "overflow", path: "" }, { type: "overflow", path: "" }],
  ] as [string, FileEvent, FileEvent | undefined][])("%s", (_what, event, seen) => {
    expect(seenFrom(event, "a/", true)).toEqual(seen);
  });

  it("is none below the folder unless asked for", () => {
    expect(seenFrom({ type: "created", path: "a/b/c" }, "a/", false)).toBeUndefined();
    expect(seenFrom(moved("a/b/c", "a/d"), "a/", false)).toEqual({ type: "created", path: "d" });
  });
});
