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
    expect(() => parseRun(["Makefile"], {})).toThrow(/unknown language of 'Makefile'/);
    expect(parseRun(["--language", "shell", "Makefile"], {})?.language).toBe("shell");
  });

  it.each([
    ["a.py -t 1", "caisson run -t 1 a.py", "caisson run a.py -- -t 1"],
    ["a.py -t1 x", "caisson run -t1 a.py x", "caisson run a.py -- -t1 x"],
    ["a.py --own --timeout 5 y", "caisson run --timeout 5 a.py --own y", "caisson run a.py -- --own --timeout 5 y"],
    ["a.py x --memory=64M", "caisson run --memory=64M a.py x", "caisson run a.py -- x --memory=64M"],
    ["a.py x --ram 64M", "caisson run --ram 64M a.py x", "caisson run a.py -- x --ram 64M"],
    ["- -h", "caisson run -h -", "caisson run - -- -h"],
  ])("[CLI-03] refuses %s, which could limit the run, and gives both lines that work", (words, ours, theirs) => {
    const refusal = (() => {
      try {
        return parseRun(["-l", "python", ...words.split(" ")], {});
      } catch (error) {
        return error;
      }
    })();
    expect(refusal).toMatchObject({ code: "invalid", hint: `for Caisson: ${ours}; for the program: ${theirs}` });
    for (const line of [ours, theirs]) {
      const plan = parseRun(["-l", "python", ...line.split(" ").slice(2)], {});
      if (plan !== undefined) expect(plan.file).toMatch(/^(a\.py|-)$/);
    }
  });

  it("[CLI-02] takes its long options right after the file, and gives the program what is its own", () => {
    const plan = parseRun(["a.py", "--timeout", "5", "--verbose", "-x", "-test", "t"], {});
    expect(plan).toMatchObject({ limits: { timeoutMs: 5000 }, args: ["--verbose", "-x", "-test", "t"] });
    expect(parseRun(["a.py", "--", "-t", "1"], {})).toMatchObject({ limits: {}, args: ["-t", "1"] });
    expect(parseRun(["--", "a.py", "-t", "1"], {})).toMatchObject({ limits: {}, args: ["-t", "1"] });
  });

  it("[CLI-02] takes private networks for the names that it allows", () => {
    const allowed = parseRun(["--allow-domain", "db.example.com:5432", "--range", "10.0.0.0/8", "a.py"], {});
    expect(allowed?.allowDomains).toEqual([{ host: "db.example.com", port: 5432, ranges: ["10.0.0.0/8"] }]);
    expect(() => parseRun(["--range", "10.0.0.0/8", "a.py"], {})).toThrow(/--range requires --allow-domain/);
  });
});
