import { validationLimits } from "./limits.ts";
import { approvedModules } from "./python-modules.ts";
import { type MissingImport, statementOf } from "./python-names.ts";
import type { Token } from "./python-tokens.ts";

/** Strict policy is not given what it would refuse. */
export function isAddable({ module }: MissingImport, isStrict: boolean): boolean {
  return !isStrict || approvedModules.has(module.split(".", 1)[0] ?? "");
}

/** Puts imports where a person would: after comments, the docstring and `from __future__`, before the first other statement. */
export function addImports(code: string, tokens: readonly Token[], missing: readonly MissingImport[]): string {
  const statements = [...new Set(missing.map(statementOf))].sort().slice(0, validationLimits.fixes);
  const at = firstStatement(tokens);
  const start = at?.start ?? code.length;
  const lineStart = Math.max(code.lastIndexOf("\n", start - 1), code.lastIndexOf("\r", start - 1)) + 1;
  const newline = /\r\n|\r|\n/.exec(code)?.[0] ?? "\n";
  const indent = code.slice(lineStart, start);
  // After a docstring on the same line there is no line to begin.
  if (!/^[\ufeff\s]*$/.test(indent)) return `${code.slice(0, start)}${statements.join("; ")}; ${code.slice(start)}`;
  return `${code.slice(0, lineStart)}${indent.replace(/[^\ufeff]/g, "")}${statements.join(newline)}${newline}${code.slice(lineStart).replace(/^\ufeff/, "")}`;
}

function firstStatement(tokens: readonly Token[]): Token | undefined {
  let at = 0;
  const skipStatement = () => {
    while (at < tokens.length && tokens[at]?.kind !== "Newline" && tokens[at]?.kind !== "Semi") at += 1;
    while (tokens[at]?.kind === "Newline" || tokens[at]?.kind === "Semi") at += 1;
  };
  if (tokens[0]?.kind === "String" && /^(Newline|Semi)$/.test(tokens[1]?.kind ?? "Newline")) skipStatement();
  while (tokens[at]?.kind === "From" && tokens[at + 1]?.text === "__future__") skipStatement();
  return tokens[at];
}
