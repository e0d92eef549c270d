import { type Options, type Program, parse } from "acorn";
import type { ValidationPolicy } from "../core/validation.ts";
import { type Checked, Findings } from "./findings.ts";
import { validationLimits } from "./limits.ts";
import { findDangers } from "./node-dangers.ts";
import { approvedModules, fixableModules, fixableNames } from "./node-modules.ts";
import { type UnboundName, unboundNames } from "./node-scope.ts";
import type { AnyNode } from "./node-tree.ts";
import { Positions } from "./position.ts";

type Kind = "commonjs" | "module";

/** Acorn's parser; the rest is found in its tree. */
export function checkNode(code: string, policy: ValidationPolicy, autoFix: boolean): Checked {
  const found = new Findings();
  const positions = new Positions(code);
  const parsed = parseEither(code);
  if ("error" in parsed) {
    const { message, pos } = parsed.error;
    found.add("error", "syntax", message.replace(/ \(\d+:\d+\)$/, ""), positions.at(pos));
    return { found };
  }
  const program = parsed.program as AnyNode & { type: "Program" };
  findDangers(program, policy, found, positions);
  const fixes = new Set<string>();
  for (const unbound of unboundNames(program)) {
    const place = positions.range(unbound.node.start, unbound.node.end);
    const fix = importFor(unbound, parsed.kind, policy);
    if (fix === undefined) found.add("warning", "undefined-name", `${unbound.name} is not defined`, place);
    else found.add("warning", "missing-import", `${unbound.name} is not imported`, place, fix);
    if (fix !== undefined) fixes.add(fix);
  }
  if (!autoFix || fixes.size === 0) return { found };
  const fixedCode = addLines(code, program, [...fixes].sort().slice(0, validationLimits.fixes));
  return "error" in parseEither(fixedCode) ? { found } : { found, fixedCode };
}

type Parsed = { program: Program; kind: Kind } | { error: SyntaxError & { pos: number } };

/** As Node decides it: CommonJS, unless only a module can be written so. */
function parseEither(code: string): Parsed {
  const script = parseAs(code, "commonjs");
  if ("program" in script) return script;
  const module = parseAs(code, "module");
  // What names import and export is meant as a module, and its own error helps more.
  return "program" in module || /'import' and 'export'|import\.meta|await/.test(script.error.message) ? module : script;
}

function parseAs(code: string, kind: Kind): Parsed {
  const options: Options = { ecmaVersion: "latest", sourceType: kind, allowHashBang: true };
  try {
    return { program: parse(code, options), kind };
  } catch (error) {
    // Acorn tells of a full stack as if it were an error of the code.
    if (error instanceof SyntaxError && /stack space/.test(error.message)) throw new RangeError(error.message);
    if (error instanceof SyntaxError && "pos" in error) return { error: error as SyntaxError & { pos: number } };
    throw error;
  }
}

/** The line that would bind a name: a module that is asked for something, or a function that is called. */
function importFor({ name, node, parent }: UnboundName, kind: Kind, policy: ValidationPolicy): string | undefined {
  const isOwner = parent?.type === "MemberExpression" && parent.object === node;
  const isModule = isOwner && fixableModules.has(name);
  const module = isModule ? name : fixableNames.get(name);
  if (module === undefined || (policy === "strict" && !approvedModules.has(module))) return undefined;
  const bound = isModule ? name : `{ ${name} }`;
  if (kind === "commonjs") return `const ${bound} = require("node:${module}");`;
  return `import ${bound} from "node:${module}";`;
}

/** After a first line for the shell and directives ("use strict"). */
function addLines(code: string, program: AnyNode & { type: "Program" }, lines: string[]): string {
  const newline = /\r\n|\n/.exec(code)?.[0] ?? "\n";
  const firstOther = program.body.findIndex((node) => !("directive" in node));
  const last = program.body[(firstOther < 0 ? program.body.length : firstOther) - 1];
  if (last !== undefined) return `${code.slice(0, last.end)}${newline}${lines.join(newline)}${code.slice(last.end)}`;
  const start = /^#![^\r\n]*(\r\n|\r|\n)?/.exec(code)?.[0].length ?? 0;
  return `${code.slice(0, start)}${lines.join(newline)}${newline}${code.slice(start)}`;
}
