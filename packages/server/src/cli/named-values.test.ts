import { describe, expect, it } from "vitest";
import { namedValues } from "./named-values.ts";

describe("NAME=VALUE", () => {
  it("is cut at its first =, and the last of a name holds", () => {
    expect(namedValues(["a=1", "b=x=y", "c=", "a=2"], "env")).toEqual({ a: "2", b: "x=y", c: "" });
  });

  it("may be NAME alone where there are variables to take it from", () => {
    expect(namedValues(["HOME"], "env", { HOME: "/root" })).toEqual({ HOME: "/root" });
    expect(() => namedValues(["NONE"], "env", { HOME: "/root" })).toThrow(
      "--env: 'NONE' is not set in your environment",
    );
  });

  it.each([
    ["plain", "--label: 'plain' has no value"],
    ["=1", "--label: '=1' has no name"],
  ])("refuses %s", (row, message) => {
    expect(() => namedValues([row], "label")).toThrow(message);
  });
});
