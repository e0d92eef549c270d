import { describe, expect, it } from "vitest";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { clocksOf, dueOf } from "./clocks.ts";

const hour = 3_600_000;
type Timed = Parameters<typeof clocksOf>[0] & Pick<SandboxRecord, "status" | "idleTimeoutMs">;

const record: Timed = {
  status: "running",
  createdAtMs: 10 * hour,
  lastUsedAtMs: 11 * hour,
  idleTimeoutMs: hour,
  expiresAtMs: 20 * hour,
  pausedAtMs: null,
};

const at = (wallMs: number, monotonicMs = 0) => ({ wallMs: () => wallMs, monotonicMs: () => monotonicMs });

/** What is due so long after a daemon took the record up at that time of the wall clock. */
function due(taken: Timed, wallMs: number, laterMs: number, uses = 0) {
  const clocks = clocksOf(taken, at(wallMs, 5 * hour));
  return dueOf({ ...clocks, uses, status: taken.status, idleTimeoutMs: taken.idleTimeoutMs }, 5 * hour + laterMs);
}

describe("the timers of a sandbox", () => {
  it("[LIF-04] stop it once it was idle for its time, counted over a restart", () => {
    expect(due(record, 11.5 * hour, 0)).toBeUndefined();
    expect(due(record, 11.5 * hour, 0.5 * hour - 1)).toBeUndefined();
    expect(due(record, 11.5 * hour, 0.5 * hour)).toBe("stop");
    expect(due(record, 13 * hour, 0)).toBe("stop");
  });

  it("[LIF-04] leave one alone that is in use, paused or stopped", () => {
    expect(due(record, 13 * hour, 0, 1)).toBeUndefined();
    for (const status of ["paused", "stopped", "failed"] as const)
      expect(due({ ...record, status }, 13 * hour, 0)).toBeUndefined();
  });

  it("[LIF-04] do not count paused time as idle", () => {
    const paused: Timed = { ...record, status: "paused", pausedAtMs: 11.25 * hour };
    const clocks = clocksOf(paused, at(19 * hour, 0));
    expect(clocks.idleSinceMs).toBe(-0.25 * hour);
  });

  it("[LIF-04] destroy it at the end of its life, whatever it does", () => {
    expect(due(record, 19 * hour, hour - 1, 1)).toBeUndefined();
    for (const status of ["running", "paused", "stopped", "failed"] as const)
      expect(due({ ...record, status }, 19 * hour, hour, 1)).toBe("destroy");
  });

  it("[LIF-04] let no sandbox live longer than its lifetime where the clock was set back", () => {
    expect(due(record, 0, 10 * hour - 1, 1)).toBeUndefined();
    expect(due(record, 0, 10 * hour, 1)).toBe("destroy");
    expect(due({ ...record, expiresAtMs: 30 * hour }, 5 * hour, hour - 1)).toBeUndefined(); // used in the future: idle from now on
    expect(due({ ...record, expiresAtMs: 30 * hour }, 5 * hour, hour)).toBe("stop");
  });
});
