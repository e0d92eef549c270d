import type { ValidationPolicy } from "../core/validation.ts";
import { type Checked, Findings } from "./findings.ts";
import { Positions } from "./position.ts";
import { findDangers } from "./python-dangers.ts";
import { addImports, isAddable } from "./python-fix.ts";
import { checkImports, readImports } from "./python-imports.ts";
import { standardModules } from "./python-modules.ts";
import { importFor, type MissingImport, statementOf } from "./python-names.ts";
import { readTokens, type Token } from "./python-tokens.ts";
import { openRuff, type Ruff, type RuffDiagnostic, undefinedName } from "./ruff.ts";

let ruff: Ruff | undefined;

/** Its first check takes a hundred times as long as the next. */
export function warmUp(): void {
  if (ruff !== undefined) return;
  ruff = openRuff();
  ruff.tokens("x");
  ruff.check("x = 1");
}

/** Ruff's parser and rules; what it has no rule for is found among its tokens. */
export function checkPython(code: string, policy: ValidationPolicy, autoFix: boolean): Checked {
  ruff ??= openRuff();
  const found = new Findings();
  const positions = new Positions(code);
  const diagnostics: RuffDiagnostic[] = ruff.check(code);
  const tokens = readTokens(ruff.tokens(code), code);
  checkEncoding(code, found);
  const missing: MissingImport[] = [];
  let attributes: Map<string, string> | undefined;
  for (const diagnostic of diagnostics) {
    if (diagnostic.code === undefinedName) tellName(diagnostic);
    else found.add("error", "syntax", messageOf(diagnostic), placeOf(diagnostic));
  }
  findDangers(tokens, found, positions);
  checkImports(readImports(tokens), policy, found, positions);
  if (!autoFix || missing.length === 0 || found.list().some(({ severity }) => severity === "error")) return { found };
  const fixedCode = addImports(code, tokens, missing);
  // An import that would break the code is not offered.
  const isSound = (ruff.check(fixedCode) as RuffDiagnostic[]).every((diagnostic) => diagnostic.code === undefinedName);
  return isSound ? { found, fixedCode } : { found };

  function tellName(diagnostic: RuffDiagnostic): void {
    const name = /`([^`]+)`/.exec(diagnostic.message)?.[1] ?? "";
    const place = placeOf(diagnostic);
    attributes ??= attributesByPlace(tokens, positions);
    const wanted = importFor(name, attributes.get(keyOf(place)), (module) => standardModules.has(module));
    if (wanted === undefined || !isAddable(wanted, policy === "strict")) {
      found.add("warning", "undefined-name", `${name} is not defined`, place);
      return;
    }
    missing.push(wanted);
    found.add("warning", "missing-import", `${name} is not imported`, place, statementOf(wanted));
  }
}

function placeOf({ start_location, end_location }: RuffDiagnostic) {
  return {
    line: start_location.row,
    column: start_location.column,
    endLine: end_location.row,
    endColumn: end_location.column,
  };
}

const messageOf = ({ message }: RuffDiagnostic) => message.replace(/^SyntaxError: /, "");

const keyOf = ({ line, column }: { line: number; column: number }) => `${line}:${column}`;

/** The attributes that are asked of names, by the name's place. */
function attributesByPlace(tokens: readonly Token[], positions: Positions): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const [at, { start }] of tokens.entries()) {
    const attribute = tokens[at + 2];
    if (tokens[at + 1]?.kind === "Dot" && attribute !== undefined)
      attributes.set(keyOf(positions.at(start)), attribute.text);
  }
  return attributes;
}

/** PEP 263: a comment in the first two lines makes Python read the file in another encoding than is read here. */
function checkEncoding(code: string, found: Findings): void {
  for (const [index, line] of code.split(/\r\n|\r|\n/, 2).entries()) {
    const match = /^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)/.exec(line);
    if (match !== null && !/^(utf[-_]?8(-sig)?|ascii|us-ascii)$/i.test(match[1] ?? ""))
      found.add("danger", "source-encoding", `${match[1]} may read as other code than UTF-8 does`, {
        line: index + 1,
        column: 1,
      });
    if (!/^[ \t\f]*(#|$)/.test(line)) return;
  }
}
