import type { ValidationPolicy } from "../core/validation.ts";
import type { Findings } from "./findings.ts";
import { approvedModules, dangerousModules } from "./node-modules.ts";
import { type AnyNode, isRead, memberName, textOf, walk } from "./node-tree.ts";
import type { Positions } from "./position.ts";

/** Functions that take code as text when their first argument is one. */
const timers = new Set(["setTimeout", "setInterval", "setImmediate"]);
const globals = new Set(["globalThis", "global", "window", "self"]);
const internals = new Set([
  "binding",
  "_linkedBinding",
  "dlopen",
  "mainModule",
  "_kill",
  "_debugProcess",
  "reallyExit",
  "setuid",
]);
const functionMakers = new Set(["Function", "AsyncFunction", "GeneratorFunction"]);

/** Looks through the tree, so that strings and comments are none of it. */
export function findDangers(program: AnyNode, policy: ValidationPolicy, found: Findings, positions: Positions): void {
  const danger = (rule: string, message: string, node: AnyNode) =>
    found.add("danger", rule, message, positions.range(node.start, node.end));
  for (const { node, parent } of walk(program)) {
    switch (node.type) {
      case "Identifier":
        if ((node.name === "eval" || functionMakers.has(node.name)) && isFree(node, parent))
          danger("dynamic-code", `${node.name} runs code that a reader does not see`, node);
        break;
      case "ImportDeclaration":
      case "ExportAllDeclaration":
      case "ExportNamedDeclaration":
        if (node.source) judge(textOf(node.source), node.source);
        break;
      case "ImportExpression":
        judge(textOf(node.source), node.source);
        break;
      case "CallExpression":
        checkCall(node);
        break;
      case "MemberExpression":
        checkMember(node, parent);
        break;
      case "WithStatement":
        danger("dynamic-scope", "with makes names mean what is decided as it runs", node);
        break;
    }
  }

  function checkCall(call: AnyNode & { type: "CallExpression" }): void {
    const [first] = call.arguments;
    const name = call.callee.type === "Identifier" ? call.callee.name : memberName(call.callee);
    const text = textOf(first);
    if (name === "require" || name === "getBuiltinModule") judge(text, first ?? call);
    if (name === "createRequire") danger("dynamic-import", "createRequire makes a require of its own", call.callee);
    if (name !== undefined && timers.has(name) && text !== undefined)
      danger("dynamic-code", `${name} runs the text that it is given`, first ?? call);
  }

  function checkMember(member: AnyNode & { type: "MemberExpression" }, parent: AnyNode | undefined): void {
    const name = memberName(member);
    const owner = member.object.type === "Identifier" ? member.object.name : memberName(member.object);
    if (name === undefined) return;
    if (owner === "process" && internals.has(name))
      danger("process-internals", `process.${name} reaches into the interpreter`, member);
    else if (owner !== undefined && globals.has(owner) && (name === "eval" || functionMakers.has(name)))
      danger("dynamic-code", `${name} runs code that a reader does not see`, member);
    else if (name === "constructor" && (owner === "constructor" || isCalled(member, parent)))
      danger("constructor-escape", "a constructor's constructor makes functions of text", member);
    else if (name === "__proto__" || name === "__defineGetter__" || name === "__lookupGetter__")
      found.add(
        "warning",
        "prototype-access",
        `${name} changes what other objects do`,
        positions.range(member.start, member.end),
      );
    else if (owner === "module" && (name === "_load" || name === "_compile"))
      danger("dynamic-import", `module.${name} loads code that a reader does not see`, member);
  }

  function judge(specifier: string | undefined, node: AnyNode): void {
    if (specifier === undefined) {
      danger("dynamic-import", "which module this is shows as it runs", node);
      return;
    }
    const name = specifier.replace(/^node:/, "");
    const reason = dangerousModules.get(name);
    // A package of that name lies nowhere before Node's own.
    if (reason === undefined && (approvedModules.has(name) || (policy !== "strict" && /^\.{0,2}\//.test(specifier))))
      return;
    const severity = reason !== undefined || policy === "strict" ? "danger" : "warning";
    const why = reason ?? "it is not on the list of imports that strict policy approves of";
    found.add(severity, "unapproved-import", `import of ${specifier}: ${why}`, positions.range(node.start, node.end));
  }
}

/** Read, and not only asked about: `x instanceof Function` makes none. */
const isFree = (node: AnyNode, parent: AnyNode | undefined) =>
  isRead(node, parent) && !(parent?.type === "BinaryExpression" && parent.operator === "instanceof");

const isCalled = (node: AnyNode, parent: AnyNode | undefined) =>
  (parent?.type === "CallExpression" || parent?.type === "NewExpression") &&
  parent.callee === node &&
  parent.arguments.some((argument) => textOf(argument) !== undefined);
