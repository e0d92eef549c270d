import { describe, expect, it } from "vitest";
import { verbs } from "../../packages/server/src/engines/verbs.ts";
import { tableRows, wordsOf } from "./tables.ts";

describe("docs/daemon.md", () => {
  it("has each verb of the engine once, and no other", () => {
    const told = tableRows("docs/daemon.md", "| verbs | |").flatMap(([names]) => wordsOf(names));
    expect(told.sort()).toEqual(Object.keys(verbs).sort());
  });
});
