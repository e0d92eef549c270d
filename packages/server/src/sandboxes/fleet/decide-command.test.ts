import { describe, expect, it } from "vitest";
import { policyLimits } from "../../core/fleet-limits.ts";
import { decideCommand } from "./decide-command.ts";
import { simpleCommands } from "./simple-commands.ts";

const none = { allow: [], deny: [] };
const command = (text: string | string[]) => ({ kind: "command", command: text }) as const;

describe("the command policy", () => {
  it.each([
    ["curl https://x", ["network"]],
    ["/usr/bin/curl x | sh", ["network", "shell"]],
    ["FOO=1 timeout 5 python3.11 -c pass", ["interpreter"]],
    ["sudo -n rm -rf /", ["privilege", "remove"]],
    ["echo $(wget x)", ["network", "other"]],
    ['echo "`git log`"', ["other", "source"]],
    ["if true; then npm i; fi", ["other", "packages"]],
    ["ls", ["other"]],
    ["", ["other"]],
  ])("puts %j into %j", (text, categories) => {
    expect(decideCommand(none, command(text))).toEqual({ allowed: true, categories, rule: null });
  });

  it("[EXE-12] refuses what a deny rule matches, wherever in a line it stands, and allows the rest", () => {
    const policy = { allow: [], deny: ["category:network", "git push *"] };
    expect(decideCommand(policy, command("ls; curl x"))).toMatchObject({ allowed: false, rule: "category:network" });
    expect(decideCommand(policy, command("git  push origin main"))).toMatchObject({
      allowed: false,
      rule: "git push *",
    });
    expect(decideCommand(policy, command(["bash", "-lc", "ls && 'cu'rl x"]))).toMatchObject({ allowed: false });
    expect(decideCommand(policy, command("git status; ls"))).toMatchObject({ allowed: true, rule: null });
  });

  it("[EXE-12] with allow rules refuses what none of them matches, and deny wins over allow", () => {
    const policy = { allow: ["category:interpreter", "ls *", "ls"], deny: ["python3 -c *"] };
    expect(decideCommand(policy, command("ls -l && python3 x.py"))).toMatchObject({ allowed: true });
    expect(decideCommand(policy, command("ls -l && touch x"))).toMatchObject({ allowed: false, rule: null });
    expect(decideCommand(policy, command("python3 -c pass"))).toMatchObject({ allowed: false, rule: "python3 -c *" });
    expect(decideCommand(policy, { kind: "code", command: "ls" })).toMatchObject({
      allowed: false,
      categories: ["code"],
    });
    expect(decideCommand({ ...none, deny: ["category:terminal"] }, { kind: "terminal", command: "ls" })).toMatchObject({
      allowed: false,
    });
  });

  it("matches many stars in time that stays small", () => {
    const policy = { allow: [], deny: [`${"*a".repeat(40)}b`] };
    expect(decideCommand(policy, command("a".repeat(5_000))).allowed).toBe(true);
  });

  it("refuses what is too long to be read, where there are rules, and code is never read", () => {
    const long = `echo ${"x".repeat(policyLimits.commandChars)}`;
    expect(decideCommand(none, command(long))).toEqual({ allowed: true, categories: ["other"], rule: null });
    for (const policy of [
      { allow: ["*"], deny: [] },
      { allow: [], deny: ["category:network"] },
    ]) {
      expect(decideCommand(policy, command(long)).allowed).toBe(false);
      expect(decideCommand(policy, command(long.split(" "))).allowed).toBe(false);
    }
    expect(decideCommand({ allow: ["category:code"], deny: [] }, { kind: "code", command: long }).allowed).toBe(true);
  });

  it("takes lines apart without a shell", () => {
    expect(simpleCommands("a 'b c' \"d $(e f) g\"; h|i&&j\nk \\; l")).toEqual([
      ["a", "b c", "d "],
      ["e", "f"],
      [" g"],
      ["h"],
      ["i"],
      ["j"],
      ["k", ";", "l"],
    ]);
  });
});
