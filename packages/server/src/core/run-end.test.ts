import { describe, expect, it } from "vitest";
import { packageAdvice } from "./network-refusal.ts";
import { endedBy, explainRun, type LimitNames, type RunExplained } from "./run-end.ts";

const names: LimitNames = { time: "--timeout", cpu_time: "--cpu-time", memory: "--memory", output: "--max-output" };
const quiet: RunExplained = {
  ended_by: null,
  duration_ms: 1,
  truncated: false,
  refused: [],
  refused_truncated: false,
};
const refusal = { host: "a.example", port: 443, kind: "denied", reason: "no rule", hint: "ask" } as const;

describe("[S98] what a run met, in plain sentences", () => {
  it("is nothing for a run that met nothing", () => {
    expect(explainRun(quiet, names)).toEqual([]);
  });

  it("names the limit that ended it, and truncated output", () => {
    const ends = { timed_out: false, cpu_limit: false, oom_killed: false };
    expect(endedBy(ends)).toBe(null);
    const said = (met: Partial<typeof ends>, duration_ms = 1) =>
      explainRun({ ...quiet, duration_ms, ended_by: endedBy({ ...ends, ...met }) }, names);
    expect(said({ timed_out: true, oom_killed: true }, 2_049)).toEqual([
      "ended after 2 s by its time limit (--timeout)",
    ]);
    expect(said({ cpu_limit: true })).toEqual(["ended by its CPU time limit (--cpu-time)"]);
    expect(said({ oom_killed: true })).toEqual(["out of memory (--memory)"]);
    expect(explainRun({ ...quiet, truncated: true }, names)).toEqual(["output truncated at its limit (--max-output)"]);
  });

  it("says what was refused, why and what to do, with nothing in it that a terminal would obey", () => {
    const met = { ...quiet, refused: [refusal, { ...refusal, host: "\x1b[2J", port: 80, kind: "failed" as const }] };
    expect(explainRun({ ...met, refused_truncated: true }, { ...names, allow: (rule) => `allow ${rule}` })).toEqual([
      "a.example was refused: no rule (allow a.example)",
      "\\u{1b}[2J:80 could not be reached: no rule (ask)",
      "output truncated: more connections were refused",
    ]);
    const package_ = { ...refusal, hint: `it is policy; ${packageAdvice.pip}` };
    expect(explainRun({ ...quiet, refused: [package_] }, { ...names, allow: (rule) => `allow ${rule}` })[0]).toContain(
      "caisson install SANDBOX pip|npm PACKAGE",
    );
    expect(explainRun(met, names)[0]).toBe("a.example was refused: no rule (ask)");
  });
});
