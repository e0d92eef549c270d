import { randomUUID } from "node:crypto";
import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import { archiveLimits } from "../core/limits.ts";
import { FirstLines } from "./first-lines.ts";

/** Writes what there is of a file, piece by piece; a piece holds until it was written. */
export type Pieces = (write: (piece: Buffer) => Promise<void>) => Promise<void>;

/** Only plain names that stay inside the target; a sandbox chose them (hazard 33). */
function isPlain(name: string): boolean {
  return name.split("/").every((part) => part !== "" && part !== "." && part !== ".." && !part.includes("\ufffd"));
}

/**
 * A folder of this machine into which a hostile tree is written: plain files and folders below it, through nothing that stood
 * there before, links included, and no more bytes than the workspace may hold.
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

  /** What was left out, with the reason. */
  get leftOut(): readonly string[] {
    return this.#leftOut.all;
  }

  leaveOut(name: string, why: string): void {
    this.#leftOut.add(`${name}: ${why}`);
  }

  /** Whatever a sandbox names, also what is left out or named again: names without end come to one. */
  count(): void {
    if (--this.#namesLeft < 0) throw new AppError("limit_exceeded", "the output has more names than any workspace");
  }

  /** Whether a name is one that may be written. */
  takes(name: string): boolean {
    this.count();
    if (isPlain(name)) return true;
    this.leaveOut(name, "its name is not plain text");
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

  /** A file at any path, whatever stood there. */
  async one(target: string, mode: number, pieces: Pieces): Promise<void> {
    // A name that nobody else has, and no longer than a name may be, which the target's own may already be.
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

  /** Every folder on the way, whether the sandbox named it or not: none may be a link, nor have become one since the last file. */
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
      throw new AppError("limit_exceeded", "the output is larger than the workspace could hold", {
        hint: "it has sparse files, or files with several names; --storage sets the limit",
      });
  }
}

/** Refuses to write through anything that stood at the place before, links included. */
async function checkFolder(path: string): Promise<void> {
  if (!(await lstat(path)).isDirectory()) throw new AppError("conflict", `'${path}' is not a folder`);
}

/** Whether there was none. */
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

/** What goes wrong with the folder itself, as everybody is told it. */
export function explainWriting(error: unknown, place: string): unknown {
  if (error instanceof AppError || errnoOf(error) === undefined) return error;
  return new AppError("unavailable", `the output cannot be written to '${place}': ${errnoOf(error)}`, { cause: error });
}
