import type { MadeEntry } from "./made-image.ts";
import type { Listing } from "./read-back.ts";

interface ModelNode {
  text: string;
  /** Names with the same one are one file. */
  id: number;
}

/** What layers mean, said as plainly as can be: marks first, then entries, on a map of paths. Undefined for a refusal. */
export function mergeByModel(layers: readonly (readonly MadeEntry[])[]): Listing | undefined {
  const tree = new Map<string, ModelNode>();
  let ids = 0;
  for (const layer of layers) {
    for (const { path } of layer) {
      if (!isMark(path)) continue;
      if (parentsOf(path).some((parent) => tree.get(parent)?.text.startsWith("l "))) return undefined;
      applyMark(tree, path);
    }
    const own = new Set<string>();
    for (const entry of layer) {
      if (isMark(entry.path)) continue;
      for (const parent of parentsOf(entry.path)) {
        const there = tree.get(parent);
        if (there !== undefined && !isFolder(there)) return undefined;
        if (there === undefined) tree.set(parent, { text: "d 755", id: ids++ });
      }
      const there = tree.get(entry.path);
      const node = nodeOf(entry, tree, ids++);
      if (node === undefined) return undefined;
      const areFolders = there !== undefined && isFolder(there) && isFolder(node);
      const isOwn = [...own].some((path) => path === entry.path || path.startsWith(`${entry.path}/`));
      if (!areFolders && isOwn) return undefined;
      if (!areFolders) removeBelow(tree, entry.path);
      tree.set(entry.path, node);
      own.add(entry.path);
    }
  }
  return listing([...tree].map(([path, { text, id }]) => ({ path, text, group: String(id) })));
}

const isMark = (path: string) => /(^|\/)\.wh\.[^/]*$/.test(path);
const isFolder = ({ text }: ModelNode) => text.startsWith("d ");

function nodeOf({ type, path, mode = 0, text = "", target = "" }: MadeEntry, tree: Map<string, ModelNode>, id: number) {
  if (type === "directory") return { text: `d ${mode.toString(8)}`, id };
  if (type === "file") return { text: `f ${mode.toString(8)} ${text}`, id };
  if (type === "link") return { text: `l ${target}`, id };
  const of = tree.get(target);
  if (of === undefined || isFolder(of)) return undefined;
  if (parentsOf(target).some((parent) => !isFolder(tree.get(parent) ?? { text: "", id }))) return undefined;
  return path === target ? undefined : of.text.startsWith("l ") ? { ...of, id } : of;
}

function parentsOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join("/"));
}

function applyMark(tree: Map<string, ModelNode>, path: string): void {
  const at = path.lastIndexOf("/") + 1;
  const name = path.slice(at + ".wh.".length);
  if (name === ".wh..opq") return void removeBelow(tree, path.slice(0, Math.max(0, at - 1)));
  const gone = `${path.slice(0, at)}${name}`;
  removeBelow(tree, gone);
  tree.delete(gone);
}

function removeBelow(tree: Map<string, ModelNode>, folder: string): void {
  for (const path of [...tree.keys()]) if (path.startsWith(folder === "" ? "" : `${folder}/`)) tree.delete(path);
}

/** With the names that share a file written at each of them. */
export function listing(found: readonly { path: string; text: string; group: string }[]): Listing {
  const groups = Map.groupBy(found, ({ group }) => group);
  const shared = (group: string) => (groups.get(group) ?? []).map(({ path }) => path).sort();
  return Object.fromEntries(
    found.map(({ path, text, group }) => [path, text.startsWith("f ") ? `${text} ${shared(group).join(" ")}` : text]),
  );
}
