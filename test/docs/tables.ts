import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";

/** The cells of every row of the tables of a page, heads left out; of one table, where its head is given. */
export function tableRows(page: string, head = ""): string[][] {
  const text = readFileSync(join(root, page), "utf8");
  const at = text.indexOf(head);
  if (at < 0) throw new Error(`${page} has no table "${head}"`);
  const tables = head === "" ? text : text.slice(at, text.indexOf("\n\n", at));
  const rows = [...tables.matchAll(/^\| (.*) \|$/gm)].map(([, row = ""]) => row.split(/ ?\| ?/));
  return rows.filter((_, n) => head === "" || n > 0);
}

/** What a cell has in backticks. */
export const wordsOf = (cell = ""): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
