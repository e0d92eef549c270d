import { describe, expect, it } from "vitest";
import { AppError } from "../../core/errors.ts";
import { parseCheckpoint } from "./kept-checkpoints.ts";

const id = "abcdefghijklmnop";
const limits = { memoryBytes: 5, cpus: 1, cpuShares: 1024, processes: 64, storageBytes: 1024 };
const layers = { root: null, base: "ponmlkjihgfedcba", origin: null };
const good = { version: 1, id, spec: { limits }, hasInput: false, bundle: "{}", layers, heldBytes: 7, host: "print" };

describe("the record of a kept checkpoint", () => {
  it("is read as it was written, and one that does not say how much memory it takes takes all that its sandbox may", () => {
    const { version: _, ...rest } = good;
    expect(parseCheckpoint(id, JSON.stringify(good))).toEqual(rest);
    const { heldBytes: __, host: ___, ...older } = good;
    expect(parseCheckpoint(id, JSON.stringify(older))).toMatchObject({ heldBytes: 5, host: null });
  });

  it.each([
    ["nothing", ""],
    ["half of one", JSON.stringify(good).slice(0, -20)],
    ["null", "null"],
    ["a list", "[]"],
    ["another version", JSON.stringify({ ...good, version: 2 })],
    ["another's", JSON.stringify({ ...good, id: "bbbbbbbbbbbbbbbb" })],
    ["no layers", JSON.stringify({ ...good, layers: undefined })],
    ["a layer that is a path", JSON.stringify({ ...good, layers: { ...layers, base: "../../etc" } })],
    ["no limits", JSON.stringify({ ...good, spec: {} })],
    ["a bundle that is no text", JSON.stringify({ ...good, bundle: {} })],
    ["less than no memory", JSON.stringify({ ...good, heldBytes: -1 })],
    ["a print that is no text", JSON.stringify({ ...good, host: 1 })],
  ])("is damaged where it is %s", (_, text) => {
    expect(() => parseCheckpoint(id, text)).toThrow(AppError);
    expect(() => parseCheckpoint(id, text)).toThrow("is damaged");
  });
});
