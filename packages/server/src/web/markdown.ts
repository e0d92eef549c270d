/** A tree of HTML as Markdown (CommonMark, with the tables of GitHub). */

import { type DomElement, type DomNode, isElement, isText } from "./dom.ts";
import { webLimits } from "./limits.ts";
import { writeTable } from "./markdown-table.ts";
import { oneLine } from "./one-line.ts";
import { linkOf } from "./page-address.ts";

// biome-ignore format: a list of words
const blocks = new Set([
  "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
  "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "li", "main", "nav", "ol", "p", "pre",
  "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
]);
/** Of what an element adds to a line: an address, words of an image. */
const elementWeight = 100;
const marks: Readonly<Record<string, string>> = { strong: "**", b: "**", em: "*", i: "*", del: "~~", s: "~~" };

export class MarkdownWriter {
  readonly #base: string;
  readonly #weights = new WeakMap<DomNode, number>();
  #indents = 0;

  constructor(base: string) {
    this.#base = base;
  }

  write(root: DomElement): string {
    return this.blocksOf(root).join("\n\n");
  }

  /** What stands below each other in it. */
  blocksOf(parent: DomNode): string[] {
    const found: string[] = [];
    let line = "";
    const flush = () => {
      const text = paragraph(line);
      if (text !== "") found.push(text);
      line = "";
    };
    for (const child of parent.childNodes) {
      if (!this.#isBlock(child)) {
        line += this.inline(child);
        if (line.length >= webLimits.pieceCharacters) flush();
      } else {
        flush();
        found.push(...this.#block(child));
      }
    }
    flush();
    return found;
  }

  #isBlock(node: DomNode): node is DomElement {
    return isElement(node) && (blocks.has(node.localName) || this.#weight(node) >= webLimits.pieceCharacters);
  }

  /** As text in a line. A link may be around a whole card, and old pages are in one font: those are too much for a line. */
  #weight(node: DomNode): number {
    if (isText(node)) return node.textContent?.length ?? 0;
    const known = this.#weights.get(node);
    if (known !== undefined) return known;
    let weight = elementWeight;
    for (const child of node.childNodes)
      weight += this.#isBlock(child) ? webLimits.pieceCharacters : this.#weight(child);
    this.#weights.set(node, weight);
    return weight;
  }

  #block(element: DomElement): string[] {
    const { localName: name } = element;
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) return prefixed("#".repeat(Number(level)), this.line(element));
    if (name === "hr") return ["---"];
    if (name === "pre") return fence(element);
    if (name === "blockquote") return this.#indented(() => this.#quote(element), element);
    if (name === "ul" || name === "ol") return this.#indented(() => this.#list(element), element);
    if (name === "table") return writeTable(this, element);
    if (name === "dt" || name === "summary") return this.line(element) === "" ? [] : [`**${this.line(element)}**`];
    return this.blocksOf(element);
  }

  /** Past so many levels the rest stands at the same one: each is a copy of all that is in it. */
  #indented(write: () => string[], element: DomElement): string[] {
    if (this.#indents >= webLimits.indents) return this.blocksOf(element);
    this.#indents++;
    try {
      return write();
    } finally {
      this.#indents--;
    }
  }

  #quote(element: DomElement): string[] {
    const inner = this.blocksOf(element).join("\n\n");
    return inner === "" ? [] : [inner.replace(/^(?=.)/gm, "> ").replace(/^$/gm, ">")];
  }

  #list(element: DomElement): string[] {
    const start = Number.parseInt(element.getAttribute("start") ?? "1", 10);
    let number = Number.isSafeInteger(start) && start >= 0 ? start : 1;
    const items: string[] = [];
    for (const child of element.childNodes) {
      if (!isElement(child)) continue;
      const inner = this.blocksOf(child);
      if (inner.length === 0) continue;
      const mark = element.localName === "ol" ? `${number++}. ` : "- ";
      const isTight = inner.slice(1).every((block) => /^(- |\d+\. )/.test(block));
      items.push(mark + inner.join(isTight ? "\n" : "\n\n").replace(/\n(?=[^\n])/g, `\n${" ".repeat(mark.length)}`));
    }
    return items.length === 0 ? [] : [items.join("\n")];
  }

  /** All of it in one line. */
  line(node: DomNode): string {
    return paragraph(this.#inlines(node)).replace(/\s*\n\s*/g, " ");
  }

  #inlines(node: DomNode): string {
    let text = "";
    for (const child of node.childNodes) {
      text += this.inline(child);
      if (text.length >= webLimits.pieceCharacters) break;
    }
    return text;
  }

  inline(node: DomNode): string {
    if (isText(node)) return escapeText((node.textContent ?? "").replace(/\s+/g, " "));
    if (!isElement(node)) return "";
    const { localName: name } = node;
    if (name === "br") return "\n";
    if (name === "img") return this.#image(node);
    if (name === "code" || name === "kbd" || name === "samp" || name === "tt") return code(node.textContent ?? "");
    const inner = this.#inlines(node);
    if (name === "a") return this.#link(node, inner);
    if (blocks.has(name)) return ` ${inner} `;
    const mark = marks[name];
    return mark === undefined ? inner : around(mark, inner);
  }

  #image(element: DomElement): string {
    const alt = escapeText(oneLine(element.getAttribute("alt") ?? "", webLimits.titleCharacters));
    const url = linkOf(element.getAttribute("src"), this.#base);
    if (alt === "") return "";
    return url === undefined ? alt : `![${alt}](${escapeUrl(url)})`;
  }

  #link(element: DomElement, inner: string): string {
    const text = inner.replace(/\s+/g, " ").trim();
    const href = element.getAttribute("href");
    const url = href?.startsWith("#") === true ? undefined : linkOf(href, this.#base);
    if (text === "" || url === undefined) return inner;
    const [before, after] = [/^\s/.test(inner) ? " " : "", /\s$/.test(inner) ? " " : ""];
    return `${before}[${text}](${escapeUrl(url)})${after}`;
  }
}

function prefixed(mark: string, text: string): string[] {
  return text === "" ? [] : [`${mark} ${text}`];
}

/** Marks count only where they touch what they are around. */
function around(mark: string, inner: string): string {
  const text = inner.trim();
  if (text === "") return inner;
  return `${/^\s/.test(inner) ? " " : ""}${mark}${text}${mark}${/\s$/.test(inner) ? " " : ""}`;
}

function longestTicks(text: string): number {
  let most = 0;
  for (let at = text.indexOf("`"); at >= 0; ) {
    let end = at;
    while (text[end] === "`") end++;
    most = Math.max(most, end - at);
    at = text.indexOf("`", end);
  }
  return most;
}

function code(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  if (line === "") return "";
  const ticks = "`".repeat(longestTicks(line) + 1);
  return line.includes("`") ? `${ticks} ${line} ${ticks}` : `${ticks}${line}${ticks}`;
}

function fence(element: DomElement): string[] {
  const text = (element.textContent ?? "").replace(/^\n/, "").trimEnd();
  if (text === "") return [];
  const inner = element.querySelector("code");
  const classes = `${element.getAttribute("class") ?? ""} ${inner?.getAttribute("class") ?? ""}`;
  const [, language = ""] = /\b(?:language|lang|highlight-source)-([\w+#.-]{1,30})/.exec(classes) ?? [];
  const ticks = "`".repeat(Math.max(3, longestTicks(text) + 1));
  return [`${ticks}${language}\n${text}\n${ticks}`];
}

/** Lines as they were broken, without the room between words, and nothing at their start that would be a mark. */
function paragraph(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/ +/g, " ").trim());
  return lines
    .map((line) =>
      line.replace(/^(#{1,6}(?= )|[>+-](?= )|[-=]{2,}$)/, "\\$1").replace(/^(\d{1,9})([.)])(?= )/, "$1\\$2"),
    )
    .join("\n")
    .replace(/\n{2,}/g, "\n")
    .trim()
    .replaceAll("\n", "  \n");
}

function escapeText(text: string): string {
  return text.replace(/[\\`*[\]<]/g, "\\$&").replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\_");
}

function escapeUrl(url: string): string {
  return url.replace(/[()]/g, (found) => (found === "(" ? "%28" : "%29"));
}
