import { describe, expect, it } from "vitest";
import { engineLimits } from "../limits.ts";
import { parseRecord } from "./record.ts";

const id = "abcdefghijklmnop";
const limits = { memoryBytes: 1, cpus: 0.5, cpuShares: 1024, processes: 64, storageBytes: 1 };
const kept = {
  pid: 10,
  rootPid: 11,
  limits,
  warm: "first-use",
  runsWatchMemory: false,
  hasInput: false,
  enforced: ["memory"],
  notEnforced: [],
  paused: false,
  stopped: false,
  emptied: false,
  frozen: false,
  listeners: true,
  fleet: false,
};
const record = {
  version: 3,
  id,
  engine: "container",
  base: engineLimits.uidBase,
  layers: { root: null, base: "ponmlkjihgfedcba", origin: null },
  createdAt: "2026-01-01T00:00:00.000Z",
  bootId: "b",
  kept,
};

describe("the record of a sandbox", () => {
  it("comes back as it was written, kept or not", () => {
    const { version: _, ...rest } = record;
    expect(parseRecord(id, JSON.stringify(record))).toEqual(rest);
    expect(parseRecord(id, JSON.stringify({ ...record, kept: null })).kept).toBeNull();
  });

  it("of a version without layers has none", () => {
    const { layers: _, ...older } = record;
    const { frozen, ...olderKept } = kept;
    const found = parseRecord(id, JSON.stringify({ ...older, version: 2, kept: olderKept }));
    expect(found.layers).toEqual({ root: null, base: null, origin: null });
    expect(found.kept?.frozen).toBe(frozen);
    expect(() => parseRecord(id, JSON.stringify({ ...record, version: 2, more: 1 }))).toThrow("damaged");
  });

  it.each<[string, string]>([
    ["is cut off", JSON.stringify(record).slice(0, -5)],
    ["is empty", ""],
    ["is a list", "[]"],
    ["is of another version", JSON.stringify({ ...record, version: 1 })],
    ["is of another sandbox", JSON.stringify({ ...record, id: "ponmlkjihgfedcba" })],
    ["names an unknown engine", JSON.stringify({ ...record, engine: "firecracker" })],
    ["has a range past all ids", JSON.stringify({ ...record, base: 2 ** 32 })],
    ["has a range that is no number", JSON.stringify({ ...record, base: "x" })],
    ["has a field too many", JSON.stringify({ ...record, more: 1 })],
    ["lacks a field", JSON.stringify({ ...record, bootId: undefined })],
    ["has a layer by a path", JSON.stringify({ ...record, layers: { ...record.layers, root: "../../etc" } })],
    ["has half of its layers", JSON.stringify({ ...record, layers: { root: null } })],
    ["has no date", JSON.stringify({ ...record, createdAt: "yesterday" })],
    ["has a process that is no number", JSON.stringify({ ...record, kept: { ...kept, pid: "1" } })],
    ["has a process 0", JSON.stringify({ ...record, kept: { ...kept, pid: 0 } })],
    ["has no limits", JSON.stringify({ ...record, kept: { ...kept, limits: {} } })],
    ["claims what nobody enforces", JSON.stringify({ ...record, kept: { ...kept, enforced: ["luck"] } })],
    ["knows another warmth", JSON.stringify({ ...record, kept: { ...kept, warm: "hot" } })],
    ["is stopped by half", JSON.stringify({ ...record, kept: { ...kept, stopped: undefined } })],
    ["is paused by half", JSON.stringify({ ...record, kept: { ...kept, paused: 1 } })],
  ])("is refused, with its id, when it %s", (_, text) => {
    expect(() => parseRecord(id, text)).toThrow(`the record of sandbox ${id} is damaged`);
  });
});
