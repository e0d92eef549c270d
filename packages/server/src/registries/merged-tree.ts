/** What the layers of an image make together, by their lists of entries alone: nothing is unpacked (S70). */
import { AppError } from "../core/errors.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { TarEntry } from "../tar/tar-reader.ts";
import { insideSteps } from "./inside-steps.ts";
import { ociLimits } from "./limits.ts";
import { refuseImage } from "./refuse-image.ts";
import { checkUtf8, ownText, quoted } from "./text.ts";
import { asFolder, type FolderName, type FolderNode, type TreeName, type TreeNode } from "./tree-node.ts";

const removal = ".wh.";
const opaque = ".wh..wh..opq";

/** Layers are applied in their order, the entries of one as they stand in it. */
export class MergedTree {
  readonly root: FolderName = {
    name: "",
    parent: undefined,
    node: { type: "directory", mode: 0o755, mtimeNs: 0n, names: new Map(), length: 0, depth: 0 },
    layer: -1,
    touched: -1,
  };
  #names = 0;
  #textBytes = 0;

  /** The entry of this number in this layer. */
  apply(entry: TarEntry, layer: number, number: number): void {
    const { path, depth } = entry;
    checkUtf8(path);
    if (depth === 0) return void Object.assign(this.root.node, { mode: entry.mode, mtimeNs: entry.mtimeNs });
    const parts = path.split("/");
    const last = parts.pop() ?? "";
    if (parts.some((part) => part.startsWith(removal))) throw refuseImage(`${quoted(path)} lies in a mark of removal`);
    if (last.startsWith(removal)) return this.#remove(parts, last, entry, layer);
    const folder = this.#makeFolder(parts, path, layer);
    this.#put(folder, last, this.#node(entry, folder, last, layer, number), path, layer);
  }

  /** A folder where code can be, who owns nothing here: it is there, and all may go into it. False where links that only a sandbox follows lead there. */
  openFolder(path: string): boolean {
    const parts = Buffer.from(path, "utf8").toString("latin1").split("/").filter(Boolean);
    try {
      const folder = this.#makeFolder(parts, path, this.root.touched);
      folder.node.mode |= 0o555;
      for (let at = asFolder(folder.parent); at !== undefined; at = asFolder(at.parent)) at.node.mode |= 0o111;
      return true;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  }

  #node(entry: TarEntry, folder: FolderName, name: string, layer: number, number: number): TreeNode {
    const { mode, mtimeNs, size, target } = entry;
    if (entry.type === "file") return { type: "file", mode, mtimeNs, size, layer, entry: number };
    if (entry.type === "directory") return { ...this.#newFolder(folder, name), mode, mtimeNs };
    if (entry.type === "hard-link") return this.#linked(entry, folder, name);
    if (target === "") throw refuseImage(`${quoted(entry.path)} is a link to nothing`);
    checkUtf8(target);
    return { type: "link", mtimeNs, target: ownText(target) };
  }

  #newFolder(folder: FolderName, name: string): FolderNode {
    const length = folder.node.length + name.length + 1;
    const depth = folder.node.depth + 1;
    // A name below it has 255 bytes at most.
    if (length + 256 > sandboxLimits.pathBytes) throw refuseImage(`${quoted(name)} is in too long a path`);
    if (depth > ociLimits.depth) throw refuseImage(`${quoted(name)} is deeper than ${ociLimits.depth} folders`);
    return { type: "directory", mode: 0o755, mtimeNs: 0n, names: new Map(), length, depth };
  }

  /** The node that a hard link is another name of: there already, no folder, and another name. */
  #linked({ path, target }: TarEntry, folder: FolderName, name: string): TreeNode {
    const parts = target.split("/");
    const last = parts.pop() ?? "";
    const holder = this.#findFolder(parts, path);
    const found = holder?.node.names.get(last)?.node;
    if (found === undefined || found.type === "directory" || (holder === folder && last === name))
      throw refuseImage(`${quoted(path)} is a hard link to ${quoted(target)}, which is no earlier file`);
    return found.type === "link" ? { ...found } : found;
  }

  #put(folder: FolderName, name: string, node: TreeNode, path: string, layer: number): void {
    const there = folder.node.names.get(name);
    if (there?.node.type === "directory" && node.type === "directory") {
      Object.assign(there.node, { mode: node.mode, mtimeNs: node.mtimeNs });
      Object.assign(there, { layer, touched: layer });
      return;
    }
    if (there?.touched === layer) throw refuseImage(`${quoted(path)} is in it twice`);
    if (there !== undefined) this.#forget(there);
    this.#add({ name: ownText(name), parent: folder, node, layer, touched: layer }, folder);
  }

  #add(added: TreeName, folder: FolderName): void {
    this.#textBytes += textBytes(added);
    if (this.#textBytes > ociLimits.textBytes)
      throw refuseImage(`its names are longer than ${ociLimits.textBytes} bytes together`);
    if (++this.#names > ociLimits.entries) throw refuseImage(`it has more than ${ociLimits.entries} names`);
    folder.node.names.set(added.name, added);
  }

  /** Without recursion: each name of what goes is counted, however many there are. */
  #forget(gone: TreeName): void {
    const left = [gone];
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      this.#names--;
      this.#textBytes -= textBytes(at);
      if (at.node.type === "directory") for (const below of at.node.names.values()) left.push(below);
    }
  }

  /** Hides names of the layers below; what this layer itself has said stays, wherever in it the mark stands. */
  #remove(parts: readonly string[], mark: string, { path, type }: TarEntry, layer: number): void {
    if (type !== "file") throw refuseImage(`${quoted(path)} marks a removal and is no file`);
    const name = mark.slice(removal.length);
    if (name === "" || name === "." || name === "..") throw refuseImage(`${quoted(path)} removes its own folder`);
    const folder = this.#findFolder(parts, path);
    if (folder === undefined) return;
    if (mark === opaque) return this.#empty(folder, layer);
    if (name.startsWith(removal)) return; // what a storage driver noted for itself
    const there = folder.node.names.get(name);
    if (there !== undefined) this.#hide(folder, there, layer);
  }

  /** Once a layer is enough: what comes later in it is its own. A mark may stand in it as often as strangers like. */
  #empty(folder: FolderName, layer: number): void {
    if (folder.node.emptied === layer) return;
    folder.node.emptied = layer;
    for (const there of [...folder.node.names.values()]) this.#hide(folder, there, layer);
  }

  #hide(folder: FolderName, there: TreeName, layer: number): void {
    if (there.touched < layer) {
      folder.node.names.delete(there.name);
      return this.#forget(there);
    }
    const kept = asFolder(there);
    if (kept === undefined) return;
    if (kept.layer < layer) Object.assign(kept.node, { mode: 0o755, mtimeNs: 0n });
    this.#empty(kept, layer);
  }

  #findFolder(parts: readonly string[], path: string): FolderName | undefined {
    let at: FolderName | undefined = this.root;
    for (const part of this.#walk(parts, path)) at = asFolder(at?.node.names.get(part));
    return at;
  }

  /** Where an entry goes. Folders that nobody has described are made. */
  #makeFolder(parts: readonly string[], path: string, layer: number): FolderName {
    let at = this.root;
    for (const part of this.#walk(parts, path)) {
      const there = at.node.names.get(part);
      let next = asFolder(there);
      if (next === undefined) {
        if (there !== undefined) throw refuseImage(`${quoted(path)} goes through a file`);
        next = { name: ownText(part), parent: at, node: this.#newFolder(at, part), layer: -1, touched: layer };
        this.#add(next, at);
      }
      next.touched = layer;
      at = next;
    }
    return at;
  }

  /** The names from the root to where `parts` lead, without the links among them: those are followed inside the tree. */
  #walk(parts: readonly string[], path: string): string[] {
    const left = [...parts].reverse();
    const way: string[] = [];
    let folder: FolderName | undefined = this.root;
    let hops = 0;
    for (let part = left.pop(); part !== undefined; part = left.pop()) {
      const there: TreeName | undefined = folder?.node.names.get(part);
      if (there?.node.type !== "link") {
        way.push(part);
        if (way.length > ociLimits.depth)
          throw refuseImage(`${quoted(path)} leads deeper than ${ociLimits.depth} folders`);
        folder = asFolder(there);
        continue;
      }
      const steps = insideSteps(way, there.node.target);
      if (steps === undefined)
        throw refuseImage(
          `${quoted(path)} goes through a link to ${quoted(there.node.target)}, which may lead out of it`,
        );
      if (++hops > ociLimits.hops) throw refuseImage(`${quoted(path)} goes through too many links`);
      left.push(...steps.reverse());
      way.length = 0;
      folder = this.root;
    }
    return way;
  }
}

function textBytes({ name, node }: TreeName): number {
  return name.length + (node.type === "link" ? node.target.length : 0);
}
