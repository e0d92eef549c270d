import type { Findings } from "./findings.ts";
import type { Positions } from "./position.ts";
import { modulesInModules } from "./python-modules.ts";
import { isName, literalOf, type Token } from "./python-tokens.ts";

const runsCode = new Set(["eval", "exec", "compile", "__import__", "breakpoint"]);
const showsScopes = new Set(["globals", "locals", "vars"]);
const byName = new Set(["getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"]);
const loaders = new Set(["__builtins__", "__loader__", "__spec__"]);

/** Attributes that lead from any object to the interpreter. */
const escapes = new Set(
  (
    "__class__ __base__ __bases__ __mro__ __subclasses__ __subclasshook__ __globals__ __builtins__ __code__ __closure__ __dict__ " +
    "__getattribute__ __import__ __loader__ __spec__ __reduce__ __reduce_ex__ __self__ __func__ __wrapped__ __traceback__ " +
    "__init_subclass__ __set_name__ __kwdefaults__ __defaults__ func_globals func_code gi_frame gi_code cr_frame cr_code " +
    "ag_frame ag_code tb_frame tb_next f_back f_globals f_locals f_builtins f_code co_code co_consts mro"
  ).split(" "),
);

/** Looks through tokens, so that strings and comments are none of it, except a string that is the name of an attribute. */
export function findDangers(tokens: readonly Token[], found: Findings, positions: Positions): void {
  const open: boolean[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as Token;
    const before = tokens[at - 1];
    const after = tokens[at + 1];
    const place = () => positions.range(token.start, token.end);
    switch (token.kind) {
      case "Lpar":
        open.push(isName(before) && byName.has(before.text));
        continue;
      case "Lsqb":
      case "Lbrace":
        open.push(false);
        continue;
      case "Rpar":
      case "Rsqb":
      case "Rbrace":
        open.pop();
        continue;
      case "String":
        checkString(token, open.at(-1) === true, after, tokens[at + 2], found, positions);
        continue;
    }
    if (!isName(token)) continue;
    const { text } = token;
    if (before?.kind === "Dot") {
      if (escapes.has(text))
        found.add("danger", "dunder-escape", `.${text} leads to the interpreter's own objects`, place());
      else if (modulesInModules.has(text) && !isImport(tokens, at))
        found.add("danger", "module-escape", `.${text} is a module that was not imported`, place());
      continue;
    }
    // A definition, a parameter's name in a call, or what an import binds.
    if (before?.kind === "Def" || before?.kind === "Class" || before?.kind === "As") continue;
    if (after?.kind === "Equal" && open.length > 0) continue;
    if (runsCode.has(text))
      found.add("danger", "dynamic-code", `${text} runs code that a reader does not see`, place());
    else if (loaders.has(text))
      found.add("danger", "dunder-escape", `${text} leads to the interpreter's own objects`, place());
    else if (showsScopes.has(text) && after?.kind === "Lpar")
      found.add("warning", "scope-access", `${text}() reaches names by strings`, place());
  }
}

/** Whether the name is part of an import's dotted module. */
function isImport(tokens: readonly Token[], start: number): boolean {
  let at = start;
  while (tokens[at]?.kind === "Dot" || isName(tokens[at])) at -= 1;
  return tokens[at]?.kind === "Import" || tokens[at]?.kind === "From";
}

function checkString(
  token: Token,
  isAttributeName: boolean,
  after: Token | undefined,
  method: Token | undefined,
  found: Findings,
  positions: Positions,
): void {
  const value = literalOf(token);
  if (value === undefined) return;
  const place = () => positions.range(token.start, token.end);
  const named = value.split(".").find((part) => escapes.has(part));
  if (isAttributeName && named !== undefined)
    found.add("danger", "dunder-escape", `${named} leads to the interpreter's own objects`, place());
  if (after?.kind === "Dot" && (method?.text === "format" || method?.text === "format_map")) {
    const field = /\{[^{}]*?\.(__\w+__|gi_frame|f_globals)/.exec(value);
    if (field !== null)
      found.add("danger", "dunder-escape", `${field[1]} in a format string reaches attributes`, place());
  }
}
