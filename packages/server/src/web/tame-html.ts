/**
 * Reads hostile HTML into a tree that whatever looks at it next can bear: so many elements, so deep, with such attributes,
 * and nothing that is not for reading. Whoever nests deeper loses tags, not text.
 */
import { Parser } from "htmlparser2";
import { webLimits } from "../core/web-limits.ts";
import { type DomDocument, type DomElement, emptyDocument } from "./dom.ts";

export interface TamedHtml {
  document: DomDocument;
  elements: number;
  /** There was more than that. */
  isCut: boolean;
}

/** Left out with all that is in them. */
// biome-ignore format: a list of words
const unread = new Set([
  "script", "style", "noscript", "template", "svg", "math", "iframe", "frame", "frameset", "object", "embed", "applet", "canvas",
  "audio", "video", "map", "select", "textarea", "dialog",
]);
const inHead = new Set(["title", "meta", "base"]);
// biome-ignore format: a list of words
const empty = new Set(["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);
// biome-ignore format: a list of words
const attributes = new Set([
  "id", "class", "href", "src", "alt", "title", "name", "property", "content", "itemprop", "itemtype", "rel", "lang", "dir", "colspan",
  "rowspan", "role", "hidden", "style", "datetime", "start", "action",
]);

const sliceCharacters = 64 * 1024;

export function tameHtml(source: string): TamedHtml {
  const tree = new Tree();
  let skipped = 0;
  const parser = new Parser({
    onopentag(name, found) {
      if (skipped > 0 || unread.has(name)) skipped++;
      else tree.open(name, found);
    },
    ontext(text) {
      if (skipped === 0) tree.text(text);
    },
    onclosetag(name) {
      if (skipped > 0) skipped--;
      else tree.close(name);
    },
  });
  let at = 0;
  for (; at < source.length && tree.elements < webLimits.elements; at += sliceCharacters)
    parser.write(source.slice(at, at + sliceCharacters));
  parser.end();
  tree.text("", true);
  return { document: tree.document, elements: tree.elements, isCut: at < source.length };
}

/** Html, head and body are there already: what a page says of them is where they are. */
class Tree {
  readonly document = emptyDocument();
  readonly #open: { name: string; element: DomElement | undefined }[] = [];
  /** Where things go, innermost last. */
  readonly #parents: DomElement[] = [this.document.body];
  /** Text comes in pieces, and is one node. */
  #text: string[] = [];
  elements = 0;

  open(name: string, found: Readonly<Record<string, string>>): void {
    this.elements++;
    const place = { html: this.document.documentElement, body: this.document.body }[name];
    if (place !== undefined) setAttributes(place, found);
    const isFrame = place !== undefined || name === "head";
    const element = isFrame || this.#parents.length > webLimits.depth ? undefined : this.#append(name, found);
    if (empty.has(name)) return;
    this.#open.push({ name, element });
    if (element !== undefined) this.#parents.push(element);
  }

  #append(name: string, found: Readonly<Record<string, string>>): DomElement {
    this.#flush();
    const element = this.document.createElement(/^[a-z][a-z0-9-]{0,31}$/.test(name) ? name : "span");
    setAttributes(element, found);
    (inHead.has(name) ? this.document.head : this.#parents.at(-1))?.appendChild(element);
    return element;
  }

  close(name: string): void {
    if (empty.has(name) || this.#open.at(-1)?.name !== name) return; // the end of the page came in the middle of it
    if (this.#open.pop()?.element === undefined) return;
    this.#flush();
    this.#parents.pop();
  }

  text(text: string, isLast = false): void {
    this.#text.push(text);
    if (isLast) this.#flush();
  }

  #flush(): void {
    const text = this.#text.join("");
    if (text !== "") this.#parents.at(-1)?.appendChild(this.document.createTextNode(text));
    this.#text = [];
  }
}

function setAttributes(element: DomElement, found: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(found)) {
    const value = found[name] ?? "";
    if (attributes.has(name) && value.length <= webLimits.attributeCharacters) element.setAttribute(name, value);
  }
}
