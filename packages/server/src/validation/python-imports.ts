import type { ValidationPolicy } from "../core/validation.ts";
import type { Findings } from "./findings.ts";
import type { Positions } from "./position.ts";
import { approvedModules, approvedParts, dangerousModules, modulesInModules } from "./python-modules.ts";
import { beginsStatement, isName, type Token } from "./python-tokens.ts";

interface Import {
  /** `a.b`, with dots before it where it is relative. */
  module: string;
  /** What `from module import` names. */
  names: Token[];
  first: Token;
  last: Token;
}

/** The import statements among tokens. */
export function readImports(tokens: readonly Token[]): Import[] {
  const imports: Import[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const { kind } = tokens[at] as Token;
    if (kind === "Import" && beginsStatement(tokens[at - 1])) at = readPlain(tokens, at + 1, imports);
    else if (kind === "From" && beginsStatement(tokens[at - 1])) at = readFrom(tokens, at + 1, imports);
  }
  return imports;
}

function readPlain(tokens: readonly Token[], start: number, imports: Import[]): number {
  let at = start;
  for (;;) {
    const dotted = readDotted(tokens, at);
    if (dotted === undefined) return at - 1;
    imports.push({ ...dotted, names: [] });
    at = dotted.next;
    if (tokens[at]?.kind === "As") at += 2;
    if (tokens[at]?.kind !== "Comma") return at - 1;
    at += 1;
  }
}

function readFrom(tokens: readonly Token[], start: number, imports: Import[]): number {
  let at = start;
  let dots = "";
  while (tokens[at]?.kind === "Dot" || tokens[at]?.kind === "Ellipsis") dots += tokens[at++]?.text;
  const dotted = readDotted(tokens, at);
  const first = tokens[start];
  const last = dotted?.last ?? tokens[at - 1];
  at = dotted?.next ?? at;
  if (first === undefined || last === undefined || tokens[at]?.kind !== "Import") return at - 1;
  const names: Token[] = [];
  imports.push({ module: dots + (dotted?.module ?? ""), names, first, last });
  for (at += 1; at < tokens.length; at += 1) {
    const token = tokens[at] as Token;
    if (token.kind === "Newline" || token.kind === "Semi") return at - 1;
    if (isName(token) && token.kind !== "As" && tokens[at - 1]?.kind !== "As") names.push(token);
  }
  return at;
}

function readDotted(tokens: readonly Token[], start: number) {
  const first = tokens[start];
  if (!isName(first)) return undefined;
  let last = first;
  let next = start + 1;
  const parts = [first.text];
  while (tokens[next]?.kind === "Dot" && isName(tokens[next + 1])) {
    last = tokens[next + 1] as Token;
    parts.push(last.text);
    next += 2;
  }
  return { module: parts.join("."), first, last, next };
}

/** Judges each import: what strict policy does not approve of, and why. */
export function checkImports(imports: Import[], policy: ValidationPolicy, found: Findings, positions: Positions): void {
  for (const { module, names, first, last } of imports) {
    for (const name of names) {
      if (modulesInModules.has(name.text) && !dangerousModules.has(rootOf(module)))
        found.add(
          "danger",
          "unapproved-import",
          `${name.text} comes in through ${module}`,
          positions.range(name.start, name.end),
        );
    }
    const parts = names.length === 0 ? [module] : names.map(({ text }) => `${module}.${text}`);
    if (
      approvedModules.has(rootOf(module)) ||
      approvedParts.has(module) ||
      parts.every((part) => approvedParts.has(part))
    )
      continue;
    const reason = dangerousModules.get(rootOf(module));
    const severity = reason !== undefined || policy === "strict" ? "danger" : "warning";
    const why = reason ?? "it is not on the list of imports that strict policy approves of";
    found.add(severity, "unapproved-import", `import of ${module}: ${why}`, positions.range(first.start, last.end));
  }
}

const rootOf = (module: string) => module.split(".", 1)[0] ?? "";
