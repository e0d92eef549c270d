import { randomUUID } from "node:crypto";
import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import { archiveLimits } from "../tar/limits.ts";
import { FirstLines } from "./first-lines.ts";

/** Writes a file piece by piece, each after the one before it is written. */
export type Pieces = (write: (piece: Buffer) => Promise<void>) => Promise<void>;

/** Only plain names that stay inside the target; a sandbox chose them (hazard 33). */
function isPlain(name: string): boolean {
  return name.split("/").every((part) => part !== "" && part !== "." && part !== ".." && !part.includes("\ufffd"));
}

/**
 * A folder of this machine that receives a hostile tree: plain files and folders below it, never through links or files that
 * existed before, and at most as many bytes as the workspace may have.
 */
export class FolderWriter {
  readonly #leftOut = new FirstLines();
  readonly #folder: string;
  /** A sparse file, or one with many names, takes more here than it took there. */
  #bytesLeft: number;
  #namesLeft: number;
  /** The folder that was made last, with those above it: what is in one folder comes together. */
  #parent = "";

  constructor(folder: string, mostBytes: number, mostNames: number = archiveLimits.entries.max) {
    this.#folder = folder;
    this.#namesLeft = mostNames;
    this.#bytesLeft = mostBytes;
  }

  /** Names that were skipped, with the reason. */
  get leftOut(): readonly string[] {
    return this.#leftOut.all;
  }

  leaveOut(name: string, why: string): void {
    this.#leftOut.add(`${name}: ${why}`);
  }

  /** Counts every name, skipped and repeated ones included, so that an endless list of names is refused. */
  count(): void {
    if (--this.#namesLeft < 0) throw new AppError("limit_exceeded", "the output has too many files");
  }

  /** True if a name may be written; otherwise it is skipped. */
  takes(name: string): boolean {
    this.count();
    if (isPlain(name)) return true;
    this.leaveOut(name, "its name is not valid text");
    return false;
  }

  async folder(name: string): Promise<void> {
    if (!this.takes(name)) return;
    await this.#makeParents(name);
    await makeFolder(join(this.#folder, name));
  }

  async file(name: string, mode: number, pieces: Pieces): Promise<void> {
    if (!this.takes(name)) return;
    await this.#makeParents(name);
    await this.one(join(this.#folder, name), mode, pieces);
  }

  /** Writes a file at any path and replaces an existing one. */
  async one(target: string, mode: number, pieces: Pieces): Promise<void> {
    // A unique name of fixed length: the target's own name may already have the maximum length.
    const temporary = join(dirname(target), `.caisson-part-${randomUUID()}`);
    await using file = await open(temporary, "wx", mode & 0o111 ? 0o755 : 0o644);
    try {
      await pieces((piece) => {
        this.#spend(piece.length);
        return file.writeFile(piece);
      });
      await rename(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Creates every parent folder, listed by the sandbox or not: none may be a link, or have become one since the last file. */
  async #makeParents(name: string): Promise<void> {
    const parts = name.split("/").slice(0, -1);
    const parent = parts.join("/");
    const isMade = parent === this.#parent;
    for (let i = 1; i <= parts.length; i++) {
      const path = join(this.#folder, ...parts.slice(0, i));
      if (isMade) await checkFolder(path);
      else if (await makeFolder(path)) this.count();
    }
    this.#parent = parent;
  }

  #spend(bytes: number): void {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0)
      throw new AppError("limit_exceeded", "the output is larger than the workspace limit", {
        hint: "sparse files and hard links take more space here than in the sandbox; --storage SIZE sets the limit",
      });
  }
}

/** Refuses to write through anything but a folder, links included. */
async function checkFolder(path: string): Promise<void> {
  if (!(await lstat(path)).isDirectory()) throw new AppError("conflict", `'${path}' is not a folder`);
}

/** True if the folder did not exist before. */
async function makeFolder(path: string): Promise<boolean> {
  const isNew = await mkdir(path).then(
    () => true,
    (error: unknown) => {
      if (errnoOf(error) !== "EEXIST") throw error;
      return false;
    },
  );
  await checkFolder(path);
  return isNew;
}

/** Names the folder in an error of the file system. */
export function explainWriting(error: unknown, place: string): unknown {
  if (error instanceof AppError || errnoOf(error) === undefined) return error;
  return new AppError("unavailable", `cannot write the output to '${place}': ${errnoOf(error)}`, { cause: error });
}
