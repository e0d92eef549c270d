import { describe, expect, it } from "vitest";
import { layerLimits } from "../layer-limits.ts";
import { parseLayerRecord } from "./layer-record.ts";

const id = "abcdefghijklmnop";
const record = {
  version: 1,
  id,
  kind: "image",
  digest: "0".repeat(64),
  uidBase: 1_879_048_192,
  below: ["ponmlkjihgfedcba"],
  hasInput: false,
  createdAt: "2026-01-01T00:00:00.000Z",
  sandbox: "aaaabbbbccccdddd",
  passing: true,
  lent: true,
  origin: "ponmlkjihgfedcba",
};

describe("the record of a layer", () => {
  it("comes back as it was written", () => {
    const { version: _, ...rest } = record;
    expect(parseLayerRecord(id, JSON.stringify(record))).toEqual(rest);
    expect(parseLayerRecord(id, JSON.stringify({ ...record, digest: null })).digest).toBeNull();
  });

  it.each<[string, object | string]>([
    ["is cut off", JSON.stringify(record).slice(0, -3)],
    ["is of another version", { ...record, version: 2 }],
    ["is of another layer", { ...record, id: "ponmlkjihgfedcba" }],
    ["is of an unknown kind", { ...record, kind: "device" }],
    ["has a digest that is none", { ...record, digest: "yes" }],
    ["has no range of ids", { ...record, uidBase: 0 }],
    ["lies on a path", { ...record, below: ["../../etc"] }],
    ["lies on too many", { ...record, below: Array.from({ length: layerLimits.chain }, () => id) }],
    ["has an origin that is none", { ...record, origin: "/" }],
    ["comes from nowhere", { ...record, sandbox: "" }],
  ])("is refused when it %s", (_, value) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    expect(() => parseLayerRecord(id, text)).toThrow(`the record of layer ${id} is damaged`);
  });
});
