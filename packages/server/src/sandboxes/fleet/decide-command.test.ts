import { describe, expect, it } from "vitest";
import { lineOrArgv, toCommand } from "../../core/command.ts";
import { decideCommand } from "./decide-command.ts";
import { policyLimits } from "./limits.ts";
import { simpleCommands } from "./simple-commands.ts";

const none = { allow: [], deny: [], ask: [] };
const command = (text: string | string[]) => toCommand({ what: lineOrArgv(text) });
const code = (text: string) => toCommand({ what: { code: text, language: "python" } });
const terminal = (line: string) => toCommand({ what: { line }, as: "process", terminal: { rows: 24, columns: 80 } });

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
    expect(decideCommand(none, command(text))).toEqual({ verdict: "allow", categories, rule: null });
  });

  it("[EXE-12] refuses what a deny rule matches, wherever in a line it stands, and allows the rest", () => {
    const policy = { allow: [], deny: ["category:network", "git push *"], ask: [] };
    expect(decideCommand(policy, command("ls; curl x"))).toMatchObject({ verdict: "deny", rule: "category:network" });
    expect(decideCommand(policy, command("git  push origin main"))).toMatchObject({
      verdict: "deny",
      rule: "git push *",
    });
    expect(decideCommand(policy, command(["bash", "-lc", "ls && 'cu'rl x"]))).toMatchObject({ verdict: "deny" });
    expect(decideCommand(policy, command("git status; ls"))).toMatchObject({ verdict: "allow", rule: null });
  });

  it("[EXE-12] with allow rules refuses what none of them matches, and deny wins over allow", () => {
    const policy = { allow: ["category:interpreter", "ls *", "ls"], deny: ["python3 -c *"], ask: [] };
    expect(decideCommand(policy, command("ls -l && python3 x.py"))).toMatchObject({ verdict: "allow" });
    expect(decideCommand(policy, command("ls -l && touch x"))).toMatchObject({ verdict: "deny", rule: null });
    expect(decideCommand(policy, command("python3 -c pass"))).toMatchObject({ verdict: "deny", rule: "python3 -c *" });
    expect(decideCommand(policy, code("ls"))).toMatchObject({
      verdict: "deny",
      categories: ["code"],
    });
    expect(decideCommand({ ...none, deny: ["category:terminal"] }, terminal("ls"))).toMatchObject({
      verdict: "deny",
    });
  });

  it("matches many stars in time that stays small", () => {
    const policy = { allow: [], deny: [`${"*a".repeat(40)}b`], ask: [] };
    expect(decideCommand(policy, command("a".repeat(5_000))).verdict).toBe("allow");
  });

  it("refuses what is too long to be read, where there are rules, and code is never read", () => {
    const long = `echo ${"x".repeat(policyLimits.commandChars)}`;
    expect(decideCommand(none, command(long))).toEqual({ verdict: "allow", categories: ["other"], rule: null });
    for (const policy of [
      { allow: ["*"], deny: [], ask: [] },
      { allow: [], deny: ["category:network"], ask: [] },
    ]) {
      expect(decideCommand(policy, command(long)).verdict).toBe("deny");
      expect(decideCommand(policy, command(long.split(" "))).verdict).toBe("deny");
    }
    expect(decideCommand({ allow: ["category:code"], deny: [], ask: [] }, code(long)).verdict).toBe("allow");
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

describe("a rule that asks", () => {
  const policy = { allow: ["git *"], deny: ["git push --force*"], ask: ["git push *", "category:packages"] };

  it.each([
    ["git push origin", "ask", "git push *"],
    ["git status && git push origin", "ask", "git push *"],
    ["git push --force origin", "deny", "git push --force*"],
    ["pip install x", "ask", "category:packages"],
    ["pip install x; rm -r y", "deny", null],
    ["git status", "allow", null],
  ] as const)("[EXE-12] wins over those that allow and yields to those that deny: %s", (line, verdict, rule) => {
    expect(decideCommand(policy, command(line))).toMatchObject({ verdict, rule });
  });

  it("allows the rest where no rule allows", () => {
    const only = { allow: [], deny: [], ask: ["category:code"] };
    expect(decideCommand(only, command("ls"))).toMatchObject({ verdict: "allow" });
    expect(decideCommand(only, code("ls"))).toMatchObject({
      verdict: "ask",
      rule: "category:code",
    });
    expect(decideCommand(only, command("a".repeat(100_000)))).toMatchObject({ verdict: "deny" });
  });
});
