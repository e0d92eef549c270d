import { type DomElement, type DomNode, isElement } from "./dom.ts";
import { webLimits } from "./limits.ts";

interface Writing {
  blocksOf(parent: DomNode): string[];
  line(node: DomNode): string;
}

/** One that lays a page out, or whose cells hold more than a line, is read cell by cell. */
export function writeTable(writing: Writing, table: DomElement): string[] {
  const rows = rowsOf(table)
    .map(cellsOf)
    .filter((cells) => cells.length > 0);
  const width = Math.max(0, ...rows.map((cells) => cells.length));
  const isPlain = rows.every((cells) => cells.every((cell) => !holdsTable(cell)));
  if (rows.length < 2 || width < 2 || width > webLimits.columns || !isPlain)
    return rows.flatMap((cells) => cells.flatMap((cell) => writing.blocksOf(cell)));
  const lines = rows.map((cells) =>
    format(
      cells.map((cell) => writing.line(cell).replaceAll("|", "\\|")),
      width,
    ),
  );
  const [head = "", ...rest] = lines;
  const caption = childrenNamed(table, ["caption"]).map((element) => writing.line(element));
  return [
    ...caption.filter((text) => text !== ""),
    [head, format(Array(width).fill("---"), width), ...rest].join("\n"),
  ];
}

function format(cells: readonly string[], width: number): string {
  return `| ${[...cells, ...Array<string>(width - cells.length).fill("")].join(" | ")} |`;
}

function childrenNamed(parent: DomNode, names: readonly string[]): DomElement[] {
  return [...parent.childNodes].filter(
    (child): child is DomElement => isElement(child) && names.includes(child.localName),
  );
}

function rowsOf(table: DomElement): DomElement[] {
  const groups = childrenNamed(table, ["thead", "tbody", "tfoot", "tr"]);
  return groups.flatMap((group) => (group.localName === "tr" ? [group] : childrenNamed(group, ["tr"])));
}

function cellsOf(row: DomElement): DomElement[] {
  return childrenNamed(row, ["th", "td"]);
}

function holdsTable(cell: DomElement): boolean {
  return cell.querySelector("table, pre, ul, ol, blockquote, h1, h2, h3") !== null;
}
