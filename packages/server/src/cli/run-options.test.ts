import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../config/config.ts";
import { readEnvironment } from "../config/env.ts";
import { parseRun, wallClockMs } from "./run-options.ts";

describe("caisson run", () => {
  it("[SBX-13] has no wall clock unless asked, and takes seconds", () => {
    expect(parseRun(["a.py"], {})?.limits).toEqual({});
    expect(parseRun(["--timeout", "2.5", "--cpu-time", "7", "a.py"], {})?.limits).toEqual({
      timeoutMs: 2500,
      cpuTimeMs: 7000,
    });
  });

  it.each([
    [[], {}, 0],
    [[], { CAISSON_TIMEOUT: "9" }, 9000],
    [["--timeout", "2"], { CAISSON_TIMEOUT: "9" }, 2000],
    [["--timeout", "0"], { CAISSON_TIMEOUT: "9" }, 0],
  ])("[SBX-13] with %j and %j in the environment its wall clock is %i ms", async (args, variables, expected) => {
    const configuration = await loadConfiguration({ environment: readEnvironment(variables), configFile: null });
    const plan = parseRun([...args, "a.py"], {});
    expect(plan && wallClockMs(plan, configuration)).toBe(expected);
  });

  it.each([
    ["a.py", "python"],
    ["a.js", "node"],
    ["a.mjs", "node"],
    ["a.sh", "shell"],
    ["b.PY", "python"],
  ])("[CLI-02] takes the language of %s from its extension: %s", (file, language) => {
    expect(parseRun([file], {})?.language).toBe(language);
  });

  it("[CLI-02] refuses a file whose extension says nothing, unless told the language", () => {
    expect(() => parseRun(["Makefile"], {})).toThrow(/language of 'Makefile' is not known/);
    expect(parseRun(["--language", "shell", "Makefile"], {})?.language).toBe("shell");
  });
});
