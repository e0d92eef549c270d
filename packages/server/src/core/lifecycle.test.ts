import { describe, expect, it } from "vitest";
import { checkTransition, sandboxStates } from "./lifecycle.ts";

/** Every pair: the letters are those of the states that may follow, in the order of `sandboxStates`. */
const table = {
  creating: "- running - - failed destroyed",
  running: "- - paused stopped failed destroyed",
  paused: "- running - stopped failed destroyed",
  stopped: "- running - - failed destroyed",
  failed: "- running - stopped - destroyed",
  destroyed: "- - - - - -",
} as const;

describe("the states of a sandbox", () => {
  for (const from of sandboxStates)
    for (const [at, to] of sandboxStates.entries()) {
      const may = table[from].split(" ")[at] === to;
      it(`[LIF-01] ${from} ${may ? "may" : "may not"} become ${to}`, () => {
        if (may) expect(checkTransition("x", from, to)).toMatch(/^sandbox\.[a-z]+$/);
        else expect(() => checkTransition("x", from, to)).toThrow(`sandbox x is ${from}: it cannot become ${to}`);
      });
    }
});
