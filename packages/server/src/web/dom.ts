/** As much of the DOM as is used here; the compiler knows no browser. */
import { parseHTML } from "linkedom";
import { oneLine } from "./one-line.ts";

export interface DomNode {
  readonly nodeType: number;
  readonly childNodes: Iterable<DomNode>;
  textContent: string | null;
}

export interface DomElement extends DomNode {
  readonly localName: string;
  readonly lastChild: DomNode | null;
  getAttribute(name: string): string | null;
  querySelector(selector: string): DomElement | null;
  querySelectorAll(selector: string): Iterable<DomElement>;
  setAttribute(name: string, value: string): void;
  appendChild(child: DomNode): void;
  remove(): void;
}

export interface DomDocument {
  readonly head: DomElement;
  readonly body: DomElement;
  readonly documentElement: DomElement;
  querySelector(selector: string): DomElement | null;
  querySelectorAll(selector: string): Iterable<DomElement>;
  createElement(name: string): DomElement;
  createTextNode(text: string): DomNode;
}

export function emptyDocument(): DomDocument {
  const page = "<!doctype html><html><head></head><body></body></html>";
  return (parseHTML(page) as unknown as { document: DomDocument }).document;
}

export function isText(node: DomNode): boolean {
  return node.nodeType === 3;
}

export function isElement(node: DomNode): node is DomElement {
  return node.nodeType === 1;
}

/** In one line, of at most so many characters. */
export function textOf(node: DomNode | null | undefined, mostCharacters: number): string {
  return oneLine(node?.textContent ?? "", mostCharacters);
}
