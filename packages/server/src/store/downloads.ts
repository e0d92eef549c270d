import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Download, DownloadDraft, Downloads } from "../core/download.ts";
import { errnoOf } from "../core/errors.ts";
import type { Freed } from "../core/gc.ts";
import { randomId } from "../lib/random-id.ts";
import { Turn } from "../lib/turn.ts";
import { packageLimits } from "../package-install/limits.ts";

interface DownloadsOptions {
  /** Together; the ones that nobody asked for longest go first. */
  mostBytes: number;
  onError: (error: unknown) => void;
}

/** Downloads in files, named by a digest of their address. One process at a time. */
export class FileDownloads implements Downloads {
  readonly #folder: string;
  readonly #options: DownloadsOptions;
  /** Sizes by name, the one that was asked for longest ago first. */
  readonly #sizes: Map<string, number>;
  #bytes: number;
  /** Of those that are being written: whoever reads slowly keeps them so. */
  #drafted = 0;
  /** What is put in its place and what goes take turns. */
  readonly #turn = new Turn();

  private constructor(folder: string, options: DownloadsOptions, sizes: Map<string, number>) {
    this.#folder = folder;
    this.#options = options;
    this.#sizes = sizes;
    this.#bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  }

  static async open(folder: string, options: DownloadsOptions): Promise<FileDownloads> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found: { name: string; size: number; mtimeMs: number }[] = [];
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (name.startsWith("."))
        await unlink(path); // of a process that was killed
      else found.push({ name, ...(await stat(path)) });
    }
    found.sort((left, right) => left.mtimeMs - right.mtimeMs);
    const downloads = new FileDownloads(folder, options, new Map(found.map(({ name, size }) => [name, size])));
    await downloads.#makeRoom(0);
    return downloads;
  }

  async find(url: string): Promise<Download | undefined> {
    const name = nameOf(url);
    const size = this.#sizes.get(name);
    if (size === undefined) return undefined;
    try {
      const file = await open(join(this.#folder, name));
      this.#sizes.delete(name);
      this.#sizes.set(name, size);
      return { bytes: size, read: () => file.createReadStream() };
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") this.#options.onError(error);
      this.#forget(name);
      return undefined;
    }
  }

  async keep(url: string, bytes: number): Promise<DownloadDraft | undefined> {
    const name = nameOf(url);
    const { mostBytes } = this.#options;
    if (this.#sizes.has(name) || bytes > Math.min(mostBytes / 4, packageLimits.keptFileBytes)) return undefined;
    if (this.#drafted + bytes > mostBytes / 2) return undefined;
    this.#drafted += bytes;
    const path = join(this.#folder, `.${randomId(9, "hex")}`);
    try {
      const file = await open(path, "wx", 0o600);
      return new Draft({
        file,
        path,
        bytes,
        onError: this.#options.onError,
        place: () => this.#place(path, name, bytes),
        over: () => {
          this.#drafted -= bytes;
        },
      });
    } catch (error) {
      this.#drafted -= bytes;
      this.#options.onError(error);
      return undefined;
    }
  }

  heldBytes(): number {
    return this.#bytes;
  }

  trim(bytes: number): Promise<Freed> {
    return this.#turn.take(() => this.#free(bytes));
  }

  #place(path: string, name: string, bytes: number): Promise<void> {
    return this.#turn.take(async () => {
      await this.#makeRoom(bytes);
      await rename(path, join(this.#folder, name));
      this.#forget(name);
      this.#sizes.set(name, bytes);
      this.#bytes += bytes;
    });
  }

  async #makeRoom(bytes: number): Promise<void> {
    await this.#free(this.#bytes + bytes - this.#options.mostBytes);
  }

  /** A name is forgotten once its file is gone: until then nobody writes another under it. */
  async #free(bytes: number): Promise<Freed> {
    const freed: Freed = { items: 0, bytes: 0 };
    for (const name of [...this.#sizes.keys()]) {
      if (freed.bytes >= bytes) break;
      const size = this.#sizes.get(name);
      if (size === undefined) continue;
      await unlink(join(this.#folder, name)).catch((error: unknown) => {
        if (errnoOf(error) !== "ENOENT") this.#options.onError(error);
      });
      this.#forget(name);
      freed.items++;
      freed.bytes += size;
    }
    return freed;
  }

  #forget(name: string): void {
    this.#bytes -= this.#sizes.get(name) ?? 0;
    this.#sizes.delete(name);
  }
}

function nameOf(url: string): string {
  return createHash("sha256").update(url).digest("hex");
}

interface DraftParts {
  file: FileHandle;
  path: string;
  bytes: number;
  place: () => Promise<void>;
  over: () => void;
  onError: (error: unknown) => void;
}

/** A disk that takes no more costs whoever downloads nothing. */
class Draft implements DownloadDraft {
  readonly #parts: DraftParts;
  #written = 0;
  #failed = false;
  #placed = false;

  constructor(parts: DraftParts) {
    this.#parts = parts;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#written += chunk.length;
    if (this.#failed || this.#written > this.#parts.bytes) return;
    await this.#parts.file.writeFile(chunk).catch(this.#fail);
  }

  async commit(): Promise<void> {
    const { bytes, file, place } = this.#parts;
    if (this.#failed || this.#written !== bytes) return;
    await file
      .sync()
      .then(place)
      .then(() => {
        this.#placed = true;
      })
      .catch(this.#fail);
  }

  readonly #fail = (error: unknown): void => {
    this.#failed = true;
    this.#parts.onError(error);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    const { file, path, over, onError } = this.#parts;
    await file.close();
    if (!this.#placed) await unlink(path).catch(onError);
    over();
  }
}
