import { moduleNames } from "./node-modules.ts";
import { type AnyNode, isRead, walk } from "./node-tree.ts";

const builtIn = new Set(Object.getOwnPropertyNames(globalThis));

/** The names that a pattern binds. */
function* boundBy(pattern: AnyNode | null | undefined): Generator<string> {
  const open = [pattern];
  for (let node = open.pop(); open.length > 0 || node; node = open.pop()) {
    switch (node?.type) {
      case "Identifier":
        yield node.name;
        break;
      case "ObjectPattern":
        open.push(...node.properties);
        break;
      case "Property":
        open.push(node.value);
        break;
      case "ArrayPattern":
        open.push(...node.elements);
        break;
      case "AssignmentPattern":
        open.push(node.left);
        break;
      case "RestElement":
        open.push(node.argument);
        break;
    }
  }
}

function* boundIn(node: AnyNode): Generator<string> {
  switch (node.type) {
    case "VariableDeclarator":
      yield* boundBy(node.id);
      break;
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      if (node.id) yield node.id.name;
      for (const parameter of node.params) yield* boundBy(parameter);
      break;
    case "ClassDeclaration":
    case "ClassExpression":
      if (node.id) yield node.id.name;
      break;
    case "CatchClause":
      yield* boundBy(node.param);
      break;
    case "ImportSpecifier":
    case "ImportDefaultSpecifier":
    case "ImportNamespaceSpecifier":
      yield node.local.name;
      break;
    case "AssignmentExpression":
      // Outside of modules and strict code this makes a global.
      yield* boundBy(node.left);
      break;
  }
}

export interface UnboundName {
  name: string;
  node: AnyNode;
  parent: AnyNode | undefined;
}

/** Names that nothing in the program binds, in any scope of it, and that Node does not bring: each where it is first read. */
export function unboundNames(program: AnyNode): UnboundName[] {
  const bound = new Set<string>();
  const read = new Map<string, UnboundName>();
  for (const { node, parent } of walk(program)) {
    for (const name of boundIn(node)) bound.add(name);
    if (node.type === "Identifier" && !read.has(node.name) && isRead(node, parent))
      read.set(node.name, { name: node.name, node, parent });
  }
  return [...read.values()].filter(({ name }) => !bound.has(name) && !builtIn.has(name) && !moduleNames.has(name));
}
