import type { TreeEntry } from "../core/tree.ts";
import type { TarMember } from "../tar/tar-writer.ts";
import { FilesByName, type Pair, pairs } from "./compare-trees.ts";
import type { ArchiveMember } from "./tree-archive.ts";

/** What makes one tree into another, in the order in which the guest does it (native/guest/restore.c). */
export interface RestorePlan {
  members: ArchiveMember[];
  removed: number;
  written: number;
  /** Whose bytes were right, but not mode or time. */
  changed: number;
  writtenBytes: number;
  /** How far the workspace grows on the way, at least: an old file stays until the new one is written. */
  neededBytes: number;
}

/** Compares by type, size, hash and target, then by mode and time; names only what is different. */
export function planRestore(live: readonly TreeEntry[], wanted: readonly TreeEntry[]): RestorePlan {
  const planner = new Planner(live, wanted);
  for (const pair of pairs(live, wanted)) planner.look(pair);
  return planner.finish(wanted);
}

class Planner {
  readonly #liveFiles: FilesByName;
  readonly #wantedFiles: FilesByName;
  readonly #removals: TarMember[] = [];
  readonly #writes: TreeEntry[] = [];
  readonly #changes: TreeEntry[] = [];
  readonly #links: TreeEntry[] = [];
  /** Which file of the snapshot each file of the workspace becomes: the first names of both. */
  readonly #claims = new Map<string, string>();
  /** First names of wanted files that stay in the workspace as they are, with the live file's. */
  readonly #kept = new Map<string, string>();
  /** Space that live files free, by the names that lose them. */
  readonly #freed = new Map<string, number>();
  #removedBytes = 0;
  #foldersDiffer = 0;
  #removedFolder = "\0";
  #sealedFolder = "\0";

  constructor(live: readonly TreeEntry[], wanted: readonly TreeEntry[]) {
    this.#liveFiles = new FilesByName(live);
    this.#wantedFiles = new FilesByName(wanted);
  }

  look({ path, before: live, after: wanted }: Pair): void {
    if (path.startsWith(this.#sealedFolder)) return;
    if (wanted?.type === "unreadable") {
      this.#sealedFolder = `${path}/`; // nothing is known of it: it stays as it is
      return;
    }
    if (live !== undefined && this.#mustGo(live, wanted)) this.#remove(live);
    else if (live?.type === "file") this.#freed.set(path, blocks(live.size));
    if (wanted === undefined) return;
    if (wanted.type === "directory") this.#folder(live, wanted);
    else if (wanted.type === "link") this.#link(live, wanted);
    else if (wanted.type === "file") this.#file(live, wanted);
    else this.#hardLink(live, wanted);
  }

  /** What is not wanted, and what a folder cannot be put in place of or into. */
  #mustGo(live: TreeEntry, wanted: TreeEntry | undefined): boolean {
    if (wanted === undefined) return true;
    if (live.type === "directory") return wanted.type !== "directory";
    return live.type === "unreadable" && wanted.type === "directory";
  }

  #remove({ path, size }: TreeEntry): void {
    this.#removedBytes += blocks(size);
    if (path.startsWith(this.#removedFolder)) return;
    this.#removedFolder = `${path}/`;
    this.#removals.push({ type: "removal", path });
  }

  #folder(live: TreeEntry | undefined, wanted: TreeEntry): void {
    const isSame = live?.type === "directory" && live.mode === wanted.mode && live.mtimeNs === wanted.mtimeNs;
    if (!isSame) this.#foldersDiffer++;
  }

  #link(live: TreeEntry | undefined, wanted: TreeEntry): void {
    if (live?.type !== "link" || live.target !== wanted.target) this.#writes.push(wanted);
    else if (live.mtimeNs !== wanted.mtimeNs) this.#changes.push(wanted);
  }

  /** A live file may have names that are different files in the snapshot: only one of those keeps it. */
  #file(live: TreeEntry | undefined, wanted: TreeEntry): void {
    const file = this.#liveFiles.of(live);
    const isSame = file !== undefined && file.size === wanted.size && file.sha256 === wanted.sha256;
    if (!isSame || this.#claims.has(file.path)) {
      this.#writes.push(wanted);
      return;
    }
    this.#claims.set(file.path, wanted.path);
    this.#kept.set(wanted.path, file.path);
    if (file.mode !== wanted.mode || file.mtimeNs !== wanted.mtimeNs) this.#changes.push(wanted);
  }

  #hardLink(live: TreeEntry | undefined, wanted: TreeEntry): void {
    const leader = this.#wantedFiles.of(wanted);
    const file = this.#liveFiles.of(live);
    if (leader === undefined) return;
    if (file === undefined || this.#kept.get(leader.path) !== file.path) this.#links.push(wanted);
  }

  finish(wanted: readonly TreeEntry[]): RestorePlan {
    const plan: RestorePlan = {
      members: [],
      removed: this.#removals.length,
      written: this.#writes.length + this.#links.length,
      changed: this.#changes.length,
      writtenBytes: this.#writes.reduce((total, { size }) => total + size, 0),
      neededBytes: this.#neededBytes(),
    };
    if (plan.removed + plan.written + plan.changed + this.#foldersDiffer === 0) return plan;
    const add = (member: TarMember, chunks: readonly string[] = []) => plan.members.push({ member, chunks });
    for (const removal of this.#removals) add(removal);
    // All of them: work inside changes a folder's time.
    for (const entry of wanted) if (entry.type === "directory") add(member(entry, "directory"));
    for (const entry of this.#changes) add(member(entry, "change"));
    for (const entry of this.#writes) add(member(entry, entry.type === "link" ? "link" : "file"), entry.chunks);
    for (const entry of this.#links) add(member(entry, "hard-link"));
    return plan;
  }

  #neededBytes(): number {
    let grown = -this.#removedBytes;
    let most = 0;
    for (const entry of this.#writes) {
      grown += leastBytes(entry);
      most = Math.max(most, grown);
      grown -= this.#freed.get(entry.path) ?? 0;
    }
    return most;
  }
}

const blockBytes = 4096;
const blocks = (size: number) => Math.ceil(size / blockBytes) * blockBytes;

/** Holes take no room, and a chunk of zeros is the same one again and again. */
function leastBytes({ size, chunks }: TreeEntry): number {
  const distinct = new Set(chunks).size;
  return distinct === chunks.length ? blocks(size) : Math.floor((size * distinct) / chunks.length / 2);
}

function member({ path, mode, mtimeNs, size, target }: TreeEntry, type: TarMember["type"]): TarMember {
  return { type, path, mode, mtimeNs, target, size: type === "file" ? size : 0 };
}
