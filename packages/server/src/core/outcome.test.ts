import { describe, expect, it } from "vitest";
import { outcomeOf } from "./outcome.ts";

const ended = { exit_code: 0, timed_out: false, cpu_limit: false, oom_killed: false };

describe("the outcome of a run", () => {
  it.each([
    [ended, "completed", null],
    [{ ...ended, exit_code: 1 }, "failed", null],
    [{ ...ended, exit_code: 137, timed_out: true }, "timeout", "time"],
    [{ ...ended, timed_out: true, oom_killed: true }, "timeout", "time"],
    [{ ...ended, exit_code: 137, cpu_limit: true }, "failed", "cpu_time"],
    [{ ...ended, exit_code: 137, oom_killed: true }, "failed", "memory"],
    [undefined, "failed", null],
  ] as const)("[EXE-14] of %j is %s, ended by %s", (result, outcome, ended_by) => {
    expect(outcomeOf(result)).toEqual({ outcome, ended_by });
  });
});
