import type { AnyNode, Node } from "acorn";

export type { AnyNode };

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

function childrenOf(node: Node): AnyNode[] {
  const children: AnyNode[] = [];
  for (const value of Object.values(node)) {
    if (isNode(value)) children.push(value);
    else if (Array.isArray(value)) for (const item of value) if (isNode(item)) children.push(item);
  }
  return children;
}

/** Every node with those above it, nearest last; without recursion, however deep the tree. */
export function* walk(root: Node): Generator<{ node: AnyNode; parent: AnyNode | undefined }> {
  const open: { node: AnyNode; parent: AnyNode | undefined }[] = [{ node: root as AnyNode, parent: undefined }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    yield next;
    const { node } = next;
    for (const child of childrenOf(node).reverse()) open.push({ node: child, parent: node });
  }
}

/** What a member is called, when the code says so itself: `a.b`, `a["b"]`, `a[\`b\`]`. */
export function memberName(node: AnyNode): string | undefined {
  if (node.type !== "MemberExpression") return undefined;
  if (!node.computed) return node.property.type === "Identifier" ? node.property.name : undefined;
  return textOf(node.property);
}

/** The text of a literal, or of literals put together. */
export function textOf(node: AnyNode | null | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type === "TemplateLiteral" && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? undefined;
  if (node?.type !== "BinaryExpression" || node.operator !== "+") return undefined;
  const parts: string[] = [];
  // A sum leans to the left, and may be long.
  let left: AnyNode = node;
  while (left.type === "BinaryExpression" && left.operator === "+") {
    const right = textOf(left.right);
    if (right === undefined) return undefined;
    parts.unshift(right);
    left = left.left;
  }
  const first = left.type === "BinaryExpression" ? undefined : textOf(left);
  return first === undefined ? undefined : first + parts.join("");
}

/** Whether an identifier is read there as a variable. */
export function isRead(node: AnyNode, parent: AnyNode | undefined): boolean {
  switch (parent?.type) {
    case "MemberExpression":
      return parent.object === node || parent.computed;
    case "Property":
    case "PropertyDefinition":
    case "MethodDefinition":
      return parent.value === node || parent.computed;
    case "UnaryExpression":
      return parent.operator !== "typeof";
    case "LabeledStatement":
    case "BreakStatement":
    case "ContinueStatement":
    case "ImportSpecifier":
    case "ExportSpecifier":
    case "ExportAllDeclaration":
    case "ImportAttribute":
    case "MetaProperty":
      return false;
    default:
      return true;
  }
}
