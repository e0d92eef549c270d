import { describe, expect, it } from "vitest";
import { Freezer } from "./freezer.ts";

function makeFreezer() {
  const state = { frozen: false };
  const set = (frozen: boolean) => async () => {
    state.frozen = frozen;
  };
  return { state, freezer: new Freezer({ freeze: set(true), thaw: set(false) }) };
}

describe("a sandbox held by its caller and by a full disk", () => {
  it("stays paused when the disk has room again", async () => {
    const { state, freezer } = makeFreezer();
    await freezer.hold("caller");
    await freezer.hold("disk");
    await freezer.release("disk");
    expect(state.frozen).toBe(true);
  });

  it("stays frozen when its caller resumes it while the disk is full", async () => {
    const { state, freezer } = makeFreezer();
    await freezer.hold("disk");
    await freezer.release("caller");
    expect(state.frozen).toBe(true);
    await freezer.release("disk");
    expect(state.frozen).toBe(false);
  });
});
