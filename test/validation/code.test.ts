import { afterAll, describe, expect, it } from "vitest";
import { languages } from "../../packages/server/src/core/language.ts";
import { CodeAndDataValidation } from "../../packages/server/src/validation/validation.ts";
import { codeTable, short } from "./tables.ts";

const validation = new CodeAndDataValidation();
afterAll(() => validation[Symbol.asyncDispose]());

const atLeast = { python: 60, node: 30, shell: 30 };

describe.each(languages)("[VAL-01] validated code in %s", (language) => {
  const rows = codeTable(language);

  it("has a table of examples that is long enough", () => {
    expect(rows.length).toBeGreaterThanOrEqual(atLeast[language]);
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
  });

  it.each(rows)("$name", async ({ code, policy = "advise", findings, fixedCode }) => {
    const result = await validation.code({ language, code, policy, autoFix: true });
    expect(result.findings.map(short)).toEqual(findings);
    expect(result.fixedCode).toBe(fixedCode);
    expect(result.valid).toBe(!findings.some((finding) => finding.includes(" error ")));
    expect(result.refused).toBe(findings.some((finding) => !finding.includes(" warning ")));
  });

  it.each(rows.filter(({ fixedCode }) => fixedCode !== undefined))("has nothing more to fix: $name", async (row) => {
    const { policy = "advise", fixedCode = "" } = row;
    const again = await validation.code({ language, code: fixedCode, policy, autoFix: true });
    expect(again.fixedCode).toBeUndefined();
    expect(again.findings.filter(({ rule }) => rule === "missing-import")).toEqual([]);
  });

  it("is left as it is where no fix is asked for", async () => {
    const row = rows.find(({ fixedCode }) => fixedCode !== undefined);
    const { findings, fixedCode } = await validation.code({
      language,
      code: row?.code ?? "",
      policy: "advise",
      autoFix: false,
    });
    expect(fixedCode).toBeUndefined();
    expect(findings.map(short)).toEqual(row?.findings ?? []);
  });

  it("says who read it", async () => {
    const { checkedBy } = await validation.code({ language, code: "", policy: "advise", autoFix: true });
    expect(checkedBy).toEqual([{ python: "ruff", node: "acorn", shell: "unbash" }[language]]);
  });
});

describe("[VAL-01] a script that bash has read too", () => {
  const withBash = (code: string, exitCode: number, stderr: string) => {
    const input = { language: "shell", code, policy: "advise", autoFix: true } as const;
    return validation.code(input, undefined, async () => ({ exitCode, stderr }));
  };

  it("has the errors that bash alone sees", async () => {
    const { valid, findings, checkedBy } = await withBash(
      "echo a\n  echo b",
      2,
      "s.sh: line 2: syntax error near `b'\n",
    );
    expect(valid).toBe(false);
    expect(findings).toEqual([
      { rule: "syntax", severity: "error", message: "syntax error near `b'", line: 2, column: 3 },
    ]);
    expect(checkedBy).toEqual(["unbash", "bash"]);
  });

  it("may run what bash takes, with the parser's doubt as a warning", async () => {
    const { valid, findings } = await withBash("echo 'abc", 0, "");
    expect(valid).toBe(true);
    expect(findings.map(short)).toEqual(["1:6 warning syntax"]);
  });

  it("cannot run what bash complains about, whatever it ends with", async () => {
    const warned = await withBash("cat <<E\nx", 0, "bash: line 1: warning: here-document delimited by end-of-file\n");
    expect(warned.valid).toBe(true);
    const { findings } = await withBash("[[ a b ]]", 0, "bash: line 1: conditional binary operator expected\n");
    expect(findings.map(short)).toEqual(["1:6 error syntax"]);
  });

  it("has each error once", async () => {
    const { findings } = await withBash(
      "echo 'abc",
      2,
      "s.sh: line 1: unexpected EOF while looking for matching `''\n",
    );
    expect(findings.map(short)).toEqual(["1:6 error syntax"]);
  });
});
