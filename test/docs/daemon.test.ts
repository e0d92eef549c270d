import { describe, expect, it } from "vitest";
import { argumentChecks } from "../../packages/server/src/engines/protocol.ts";
import { tableRows, wordsOf } from "./tables.ts";

describe("docs/daemon.md", () => {
  it("has each verb of the engine once, and no other", () => {
    const told = tableRows("docs/daemon.md", "| verbs | |").flatMap(([verbs]) => wordsOf(verbs));
    expect(told.sort()).toEqual(Object.keys(argumentChecks).sort());
  });
});
