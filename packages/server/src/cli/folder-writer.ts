import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import { archiveLimits } from "../core/limits.ts";

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
  /** What was left out, with the reason. */
  readonly leftOut: string[] = [];
  readonly #folder: string;
  /** A sparse file, or one with many names, takes more here than it took there. */
  #bytesLeft: number;
  #namesLeft: number;
  /** The folder that was looked at last: what is in one folder comes together. */
  #parent = "";

  constructor(folder: string, mostBytes: number, mostNames: number = archiveLimits.entries.max) {
    this.#folder = folder;
    this.#namesLeft = mostNames;
    this.#bytesLeft = mostBytes;
  }

  /** Whether a name is one that may be written. */
  takes(name: string): boolean {
    if (isPlain(name)) return true;
    this.leftOut.push(`${name}: its name is not plain text`);
    return false;
  }

  async folder(name: string): Promise<void> {
    if (!this.takes(name)) return;
    await this.#makeParents(name);
    await this.#makeFolder(join(this.#folder, name));
  }

  async file(name: string, mode: number, pieces: Pieces): Promise<void> {
    if (!this.takes(name)) return;
    await this.#makeParents(name);
    await this.one(join(this.#folder, name), mode, pieces);
  }

  /** A file at any path, whatever stood there. */
  async one(target: string, mode: number, pieces: Pieces): Promise<void> {
    this.#count();
    const temporary = `${target}.caisson-part`;
    await rm(temporary, { force: true });
    try {
      await using file = await open(temporary, "wx", mode & 0o111 ? 0o755 : 0o644);
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

  /** Every folder on the way, whether the sandbox named it or not: none may be a link. */
  async #makeParents(name: string): Promise<void> {
    const parts = name.split("/").slice(0, -1);
    const parent = parts.join("/");
    if (parent === this.#parent) return;
    for (let i = 1; i <= parts.length; i++) await this.#makeFolder(join(this.#folder, ...parts.slice(0, i)));
    this.#parent = parent;
  }

  /** Refuses to write through anything that stood at the place before, links included. */
  async #makeFolder(path: string): Promise<void> {
    try {
      await mkdir(path);
      this.#count();
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
    if (!(await lstat(path)).isDirectory()) throw new AppError("conflict", `'${path}' is not a folder`);
  }

  #spend(bytes: number): void {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0)
      throw new AppError("limit_exceeded", "the output is larger than the workspace could hold", {
        hint: "it has sparse files, or files with several names; --storage sets the limit",
      });
  }

  #count(): void {
    if (--this.#namesLeft < 0) throw new AppError("limit_exceeded", "the output has more names than any workspace");
  }
}

/** What goes wrong with the folder itself, as everybody is told it. */
export function explainWriting(error: unknown, place: string): unknown {
  if (error instanceof AppError || errnoOf(error) === undefined) return error;
  return new AppError("unavailable", `the output cannot be written to '${place}': ${errnoOf(error)}`, { cause: error });
}
