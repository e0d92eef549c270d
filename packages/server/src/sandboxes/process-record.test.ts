import { describe, expect, it } from "vitest";
import { parseProcessRecord } from "./process-record.ts";

const result = {
  exit_code: 3,
  signal: null,
  duration_ms: 1,
  cpu_ms: 1,
  max_rss: 1,
  timed_out: false,
  cpu_limit: false,
  oom_killed: false,
};
const record = {
  version: 1,
  id: "p1",
  runId: "run_1",
  stream: 4,
  pid: null,
  command: ["true"],
  startedAt: "2026-01-01T00:00:00.000Z",
  cpuTimeMs: 1000,
  stdin: false,
  terminal: false,
  inputClosed: false,
  result,
  lost: null,
};

describe("the record of a process", () => {
  it("comes back as it was written", () => {
    const { version: _, ...rest } = record;
    expect(parseProcessRecord("p1", JSON.stringify(record))).toEqual(rest);
  });

  it.each<[string, string]>([
    ["is cut off", JSON.stringify(record).slice(0, -1)],
    ["is of another version", JSON.stringify({ ...record, version: 0 })],
    ["is of another process", JSON.stringify({ ...record, id: "p2" })],
    ["has no stream", JSON.stringify({ ...record, stream: 0 })],
    ["has half a result", JSON.stringify({ ...record, result: { exit_code: 0 } })],
    ["has a field too many", JSON.stringify({ ...record, more: true })],
    ["lacks a field", JSON.stringify({ ...record, lost: undefined })],
  ])("is refused when it %s", (_, text) => {
    expect(() => parseProcessRecord("p1", text)).toThrow("the record of process p1 is damaged");
  });
});
