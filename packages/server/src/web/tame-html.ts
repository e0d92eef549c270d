/**
 * Reads hostile HTML into a tree that whatever looks at it next can bear: so many elements, so deep, with such attributes,
 * and nothing that is not for reading. Whoever nests deeper loses tags, not text.
 */
import { Parser } from "htmlparser2";
import { type DomDocument, type DomElement, emptyDocument, isText } from "./dom.ts";
import { webLimits } from "./limits.ts";

export interface TamedHtml {
  document: DomDocument;
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
  let elements = 0;
  let skipped = 0;
  const parser = new Parser({
    onopentagname(name) {
      elements++;
      if (skipped > 0 || unread.has(name)) skipped++;
      else tree.open(name);
    },
    // One by one: a tag may have a million of them.
    onattribute(name, value) {
      if (skipped === 0) tree.attribute(name, value);
    },
    ontext(text) {
      if (skipped === 0) tree.text(text);
    },
    onclosetag(name) {
      if (skipped > 0) skipped--;
      else tree.close(name);
    },
  });
  const length = Math.min(source.length, webLimits.htmlCharacters);
  let at = 0;
  for (; at < length && elements < webLimits.elements; at += sliceCharacters)
    parser.write(source.slice(at, Math.min(at + sliceCharacters, length)));
  parser.end();
  tree.end();
  return { document: tree.document, isCut: at < source.length };
}

/** Html, head and body are there already: what a page says of them is where they are. */
class Tree {
  readonly document = emptyDocument();
  readonly #places: Readonly<Record<string, DomElement>>;
  readonly #open: { name: string; element: DomElement | undefined }[] = [];
  /** Where things go, innermost last. */
  readonly #parents: DomElement[] = [this.document.body];
  /** Whose attributes come. */
  #last: DomElement | undefined;
  readonly #named = new Set<string>();
  /** Text comes in pieces, as small as a character. */
  #pieces: string[] = [];
  #pieceCharacters = 0;

  constructor() {
    const { documentElement: html, body, head } = this.document;
    this.#places = { html, body, head };
  }

  open(name: string): void {
    const place = Object.hasOwn(this.#places, name) ? this.#places[name] : undefined;
    const element = place !== undefined || this.#parents.length > webLimits.depth ? undefined : this.#append(name);
    this.#last = place ?? element;
    this.#named.clear();
    if (empty.has(name)) return;
    this.#open.push({ name, element });
    if (element !== undefined) this.#parents.push(element);
  }

  #append(name: string): DomElement {
    this.#flush();
    const element = this.document.createElement(/^[a-z][a-z0-9-]{0,31}$/.test(name) ? name : "span");
    (inHead.has(name) ? this.document.head : this.#parents.at(-1))?.appendChild(element);
    return element;
  }

  /** Of several of a name the first counts. */
  attribute(name: string, value: string): void {
    if (!attributes.has(name) || value.length > webLimits.attributeCharacters || this.#named.has(name)) return;
    this.#named.add(name);
    this.#last?.setAttribute(name, value);
  }

  close(name: string): void {
    if (empty.has(name) || this.#open.at(-1)?.name !== name) return;
    if (this.#open.pop()?.element === undefined) return;
    this.#flush();
    this.#parents.pop();
  }

  text(text: string): void {
    this.#pieces.push(text);
    this.#pieceCharacters += text.length;
    if (this.#pieceCharacters >= webLimits.pieceCharacters) this.#flush();
  }

  end(): void {
    this.#flush();
  }

  /** What stood between two texts may have gone to the head. */
  #appendText(text: string): void {
    const parent = this.#parents.at(-1);
    const last = parent?.lastChild ?? null;
    const before = last !== null && isText(last) ? (last.textContent ?? "") : "";
    if (last !== null && before !== "" && before.length + text.length <= webLimits.pieceCharacters)
      last.textContent = before + text;
    else parent?.appendChild(this.document.createTextNode(text));
  }

  #flush(): void {
    const text = this.#pieces.join("");
    if (text !== "") this.#appendText(text);
    this.#pieces = [];
    this.#pieceCharacters = 0;
  }
}
