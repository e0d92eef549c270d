import { describe, expect, it } from "vitest";
import { parseRun } from "./run-options.ts";

const parse = (...args: string[]) => parseRun(args, { HERE: "value" });

describe("caisson run's options", () => {
  it("end at the file, so that a script has its own", () => {
    const plan = parse("--memory", "1G", "script.py", "--memory", "2G", "--verbose", "x");
    expect(plan?.sandbox.memoryBytes).toBe(2 * 1024 ** 3);
    expect(plan?.args).toEqual(["--verbose", "x"]);
  });

  it("are left alone behind --", () => {
    expect(parse("--", "script.py", "--json")?.json).toBe(false);
    expect(parse("script.py", "--", "--json")?.args).toEqual(["--json"]);
  });

  it("may follow the file", () => {
    expect(parse("-", "--language", "python", "--json")).toMatchObject({
      file: "-",
      language: "python",
      json: true,
      args: [],
    });
  });

  it("take the seeds' other spellings", () => {
    expect(parse("--backend", "gvisor", "--ram", "128", "--cpu", "2", "x.js")).toMatchObject({
      engine: "gvisor",
      sandbox: { memoryBytes: 128 * 1024 ** 2, cpus: 2 },
    });
  });

  it("find the language by extension", () => {
    for (const [file, language] of [
      ["a.py", "python"],
      ["a.mjs", "node"],
      ["a.sh", "shell"],
    ] as const)
      expect(parse(file)?.language).toBe(language);
  });

  it("take a variable's value from the caller's environment", () => {
    expect(parse("--env", "HERE", "--env", "A=b=c", "x.py")?.env).toEqual({ HERE: "value", A: "b=c" });
  });

  it.each([
    [["--nope", "x.py"], /unknown option '--nope'/i],
    [["x.unknown"], /language/],
    [["--engine", "kvm", "x.py"], /unknown engine 'kvm'/],
    [["--memory", "lots", "x.py"], /not a size/],
    [["--env", "GONE", "x.py"], /is not set/],
    [["--input", "d:rw", "x.py"], /read-only/],
    [[], /missing FILE/],
  ])("refuse %j", (args, message) => {
    expect(() => parse(...args)).toThrow(message);
  });
});
