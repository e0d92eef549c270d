import { comparePaths, type TreeEntry } from "../core/tree.ts";

/** A name in one tree, in another, or in both. */
export interface Pair {
  path: string;
  before: TreeEntry | undefined;
  after: TreeEntry | undefined;
}

/** Walks two trees in the order of their paths. */
export function* pairs(before: readonly TreeEntry[], after: readonly TreeEntry[]): Generator<Pair> {
  let i = 0;
  let j = 0;
  for (;;) {
    const left = before[i];
    const right = after[j];
    if (left === undefined && right === undefined) return;
    const order = left === undefined ? 1 : right === undefined ? -1 : comparePaths(left.path, right.path);
    if (order <= 0) i++;
    if (order >= 0) j++;
    yield {
      path: (order <= 0 ? left?.path : right?.path) ?? "",
      before: order <= 0 ? left : undefined,
      after: order >= 0 ? right : undefined,
    };
  }
}

/** Files by any of their names: a hard link's bytes are those of the first name. */
export class FilesByName {
  readonly #leaders = new Map<string, TreeEntry>();

  constructor(entries: readonly TreeEntry[]) {
    const wanted = new Set(entries.filter(({ type }) => type === "hard-link").map(({ target }) => target));
    for (const entry of entries) if (wanted.has(entry.path)) this.#leaders.set(entry.path, entry);
  }

  /** The first name of the same file; undefined for what is no file. */
  of(entry: TreeEntry | undefined): TreeEntry | undefined {
    if (entry?.type === "file") return entry;
    return entry?.type === "hard-link" ? this.#leaders.get(entry.target) : undefined;
  }
}

export interface TreeChange {
  change: "created" | "modified" | "deleted";
  /** As it is afterwards; before, for what was deleted. Of a hard link, the file it is. */
  entry: TreeEntry;
  path: string;
}

/** What is different between two trees: bytes, kinds, targets, modes. Times alone are no difference. */
export function* changesBetween(before: readonly TreeEntry[], after: readonly TreeEntry[]): Generator<TreeChange> {
  const old = new FilesByName(before);
  const fresh = new FilesByName(after);
  for (const { path, before: left, after: right } of pairs(before, after)) {
    const [was, is] = [old.of(left) ?? left, fresh.of(right) ?? right];
    if (is === undefined && was !== undefined) yield { change: "deleted", path, entry: was };
    else if (was === undefined && is !== undefined) yield { change: "created", path, entry: is };
    else if (was !== undefined && is !== undefined && isDifferent(was, is))
      yield { change: "modified", path, entry: is };
  }
}

function isDifferent(a: TreeEntry, b: TreeEntry): boolean {
  if (a.type !== b.type || a.sha256 !== b.sha256) return true;
  return a.type === "link" ? a.target !== b.target : a.mode !== b.mode;
}
