/** What a name of a merged tree stands for. Several names may stand for one file. */
export interface FileNode {
  type: "file";
  mode: number;
  mtimeNs: bigint;
  size: number;
  /** Where its bytes are: the entry of that number in that layer. */
  layer: number;
  entry: number;
}

interface LinkNode {
  type: "link";
  mtimeNs: bigint;
  target: string;
}

export interface FolderNode {
  type: "directory";
  mode: number;
  mtimeNs: bigint;
  names: Map<string, TreeName>;
  /** Bytes of its path. */
  length: number;
  depth: number;
  /** The last layer that hid all of what the layers below had in it. */
  emptied?: number;
}

export type TreeNode = FileNode | LinkNode | FolderNode;

/** A name in its folder, made or written to by some layer. Names are bytes, one to a character (latin1). */
export interface TreeName {
  name: string;
  parent: TreeName | undefined;
  node: TreeNode;
  /** The last layer that says what it is; -1 for a folder that none has described. */
  layer: number;
  /** The last layer that says so of it or of anything below. */
  touched: number;
}

export interface FolderName extends TreeName {
  node: FolderNode;
}

export function asFolder(found: TreeName | undefined): FolderName | undefined {
  return found?.node.type === "directory" ? (found as FolderName) : undefined;
}

export function pathOf(found: TreeName): string {
  const parts: string[] = [];
  for (let at: TreeName | undefined = found; at?.parent !== undefined; at = at.parent) parts.push(at.name);
  return parts.reverse().join("/");
}
