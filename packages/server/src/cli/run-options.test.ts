import { describe, expect, it } from "vitest";
import { parseRun } from "./run-options.ts";

describe("caisson run", () => {
  it("[SBX-13] has no wall clock unless asked, and takes seconds", () => {
    expect(parseRun(["a.py"], {})?.limits).toEqual({ timeoutMs: 0 });
    expect(parseRun(["--timeout", "2.5", "--cpu-time", "7", "a.py"], {})?.limits).toEqual({
      timeoutMs: 2500,
      cpuTimeMs: 7000,
    });
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
