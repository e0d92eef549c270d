import { createHash } from "node:crypto";
import { type FileHandle, mkdir, mkdtemp, open, readFile, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../core/errors.ts";
import { ociLimits } from "./limits.ts";
import { refuseImage } from "./refuse-image.ts";

/** Bytes of a stranger's, under a name of ours. */
export interface StagedFile {
  path: string;
  bytes: number;
  /** `sha256:…` of them. */
  digest: string;
}

/** Where the blobs of one import lie while it is under way: bounded, and gone at its end, whatever that is (S71). */
export class Staging implements AsyncDisposable {
  readonly #folder: string;
  #files = 0;
  #bytes = 0;
  #lookedAtBytes = Number.NEGATIVE_INFINITY;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(parent: string): Promise<Staging> {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    return new Staging(await mkdtemp(join(parent, "import-")));
  }

  async create(mostBytes: number): Promise<StagedWriter> {
    const path = join(this.#folder, String(this.#files++));
    return new StagedWriter(path, await open(path, "wx", 0o600), mostBytes, (bytes) => this.#count(bytes));
  }

  async store(source: AsyncIterable<Uint8Array>, mostBytes: number): Promise<StagedFile> {
    await using writer = await this.create(mostBytes);
    for await (const piece of source) await writer.write(piece);
    return writer.finish();
  }

  async #count(bytes: number): Promise<void> {
    this.#bytes += bytes;
    if (this.#bytes > ociLimits.blobBytes) throw refuseImage(`it is larger than ${ociLimits.blobBytes} bytes`);
    if (this.#bytes - this.#lookedAtBytes < ociLimits.checkBytes) return;
    this.#lookedAtBytes = this.#bytes;
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize >= ociLimits.reserveBytes + ociLimits.checkBytes) return;
    throw new AppError("limit_exceeded", "not enough disk space for this image", {
      details: { errno: "ENOSPC" },
      hint: "free space on the disk of the daemon's data folder",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** What an import left that was killed. Only before the first of this process. */
export async function clearStaging(parent: string): Promise<void> {
  await rm(parent, { recursive: true, force: true });
}

export class StagedWriter implements AsyncDisposable {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #mostBytes: number;
  readonly #count: (bytes: number) => Promise<void>;
  readonly #hash = createHash("sha256");
  bytes = 0;

  constructor(path: string, file: FileHandle, mostBytes: number, count: (bytes: number) => Promise<void>) {
    this.#path = path;
    this.#file = file;
    this.#mostBytes = mostBytes;
    this.#count = count;
  }

  async write(piece: Uint8Array): Promise<void> {
    if (this.bytes + piece.length > this.#mostBytes)
      throw refuseImage(`a part of it is larger than ${this.#mostBytes} bytes`);
    await this.#count(piece.length);
    this.#hash.update(piece);
    await this.#file.appendFile(piece);
    this.bytes += piece.length;
  }

  finish(): StagedFile {
    return { path: this.#path, bytes: this.bytes, digest: `sha256:${this.#hash.digest("hex")}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

/** A manifest, an index or a configuration. */
export async function readStaged({ path, bytes }: StagedFile): Promise<Buffer> {
  if (bytes > ociLimits.documentBytes)
    throw refuseImage(`a document of it is larger than ${ociLimits.documentBytes} bytes`);
  return readFile(path);
}
