import { tarEnd, tarHeader, tarPadding } from "../tar/tar-writer.ts";
import type { LayerReader } from "./layer-entries.ts";
import type { MergedTree } from "./merged-tree.ts";
import { refuseImage } from "./refuse-image.ts";
import { asFolder, type FileNode, pathOf, type TreeName } from "./tree-node.ts";

interface Order {
  /** By layer: the entry's number and the name that its bytes go to. */
  files: Map<number, Map<number, TreeName>>;
  /** Further names of files. */
  links: { of: TreeName; found: TreeName }[];
}

/**
 * The tree as one plain archive: folders, symbolic links, files layer by layer, hard links. Every name comes after the
 * folder that it is in, and after the file that it is another name of.
 */
export async function* mergedTar(tree: MergedTree, layers: readonly LayerReader[]): AsyncGenerator<Uint8Array> {
  const order: Order = { files: new Map(), links: [] };
  yield* foldersAndLinks(tree, order);
  for (const [layer, wanted] of [...order.files].sort(([a], [b]) => a - b)) {
    const reader = layers[layer];
    if (reader === undefined) throw new Error(`there is no layer ${layer}`);
    yield* files(reader, wanted);
  }
  for (const { of, found } of order.links)
    yield tarHeader({ type: "hard-link", path: pathOf(found), target: pathOf(of), mode: 0o644 });
  yield tarEnd;
}

function* foldersAndLinks(tree: MergedTree, order: Order): Generator<Uint8Array> {
  const first = new Map<FileNode, TreeName>();
  const left: TreeName[] = [...tree.root.node.names.values()];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    const { node } = at;
    const folder = asFolder(at);
    if (folder !== undefined) {
      const { mode, mtimeNs } = folder.node;
      yield tarHeader({ type: "directory", path: pathOf(at), mode, mtimeNs });
      for (const below of folder.node.names.values()) left.push(below);
    } else if (node.type === "link") {
      yield tarHeader({ type: "link", path: pathOf(at), target: node.target, mode: 0o777, mtimeNs: node.mtimeNs });
    } else if (node.type === "file") {
      const of = first.get(node);
      if (of !== undefined) order.links.push({ of, found: at });
      else {
        first.set(node, at);
        const wanted = order.files.get(node.layer) ?? new Map<number, TreeName>();
        order.files.set(node.layer, wanted.set(node.entry, at));
      }
    }
  }
}

async function* files(reader: LayerReader, wanted: Map<number, TreeName>): AsyncGenerator<Uint8Array> {
  let found = 0;
  for await (const { entry, number, read } of reader.entries()) {
    const name = wanted.get(number);
    if (name?.node.type !== "file") continue;
    const { mode, mtimeNs, size } = name.node;
    yield tarHeader({ type: "file", path: pathOf(name), mode, mtimeNs, size });
    for (let piece = await read(); piece !== undefined; piece = await read()) yield piece;
    yield tarPadding(entry.size);
    if (++found === wanted.size) return;
  }
  throw refuseImage("a layer changed while it was read");
}
