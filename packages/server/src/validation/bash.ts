import type { CheckShell, Finding } from "../core/validation.ts";
import { validationLimits } from "./limits.ts";

/**
 * Bash has the last word on what it can run: its errors count, and an error of the parser's alone is a warning. It knows lines
 * only, so that its own errors stand at the first character of one.
 */
export function mergeBash(
  code: string,
  findings: readonly Finding[],
  { exitCode, stderr }: Awaited<ReturnType<CheckShell>>,
): Finding[] {
  const isSyntax = ({ rule }: Finding) => rule === "syntax";
  // It goes on after some errors, and then ends with 0.
  const said = stderr.split("\n").find((line) => line !== "" && !line.includes("warning:"));
  if (exitCode === 0 && said === undefined)
    return findings.map((finding) => (isSyntax(finding) ? { ...finding, severity: "warning" as const } : finding));
  if (findings.some(isSyntax)) return [...findings];
  const match = /line (\d+): (.*)/.exec(said ?? "");
  const line = Number(match?.[1] ?? 1);
  const indent = /^\s*/.exec(code.split("\n")[line - 1] ?? "")?.[0].length ?? 0;
  const message = (match?.[2] ?? "bash does not take it").slice(0, validationLimits.messageCharacters);
  return [...findings, { rule: "syntax", severity: "error", message, line, column: indent + 1 }];
}
