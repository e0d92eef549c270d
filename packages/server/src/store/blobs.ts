import { createHash, randomBytes } from "node:crypto";
import { access, mkdir, open, readdir, readFile, rename, rm, stat, statfs, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import type { BlobMark, BlobSession, Blobs, Swept } from "../core/blob.ts";
import { AppError, errnoOf, explainFullDisk } from "../core/errors.ts";
import { engineLimits } from "../engines/limits.ts";
import { blobLimits } from "../sandboxes/snapshot-limits.ts";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** The first byte of a file says how the rest is kept. */
const raw = Buffer.from([0]);
const packed = Buffer.from([1]);

async function encode(bytes: Buffer): Promise<Buffer[]> {
  const smaller = await compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: blobLimits.level } });
  return smaller.length < bytes.length * blobLimits.worthwhile ? [packed, smaller] : [raw, bytes];
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path);
  await folder.sync();
}

/** Blobs in files named by their digests. One process at a time. */
export class FileBlobs implements Blobs {
  readonly #folder: string;
  readonly #reserveBytes: number;
  /** Digests of sessions that are under way, and how many of them hold each. */
  readonly #held = new Map<string, number>();
  /** Let go of while a sweep looks: what refers to them may be newer than its look. */
  readonly #released = new Set<string>();
  readonly #leaving = new Map<string, Promise<void>>();
  #sweep: Promise<unknown> | undefined;

  private constructor(folder: string, reserveBytes: number) {
    this.#folder = folder;
    this.#reserveBytes = reserveBytes;
  }

  static async open(folder: string, options: { reserveBytes?: number } = {}): Promise<FileBlobs> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await rm(join(folder, "new"), { recursive: true, force: true }); // of a process that was killed
    await mkdir(join(folder, "new"), { mode: 0o700 });
    return new FileBlobs(folder, options.reserveBytes ?? engineLimits.diskReserveBytes);
  }

  begin(): BlobSession {
    return new FileSession({
      folder: this.#folder,
      hold: (digest) => void this.#held.set(digest, (this.#held.get(digest) ?? 0) + 1),
      release: (digest) => this.#release(digest),
      has: async (digest) => {
        await this.#leaving.get(digest);
        return exists(this.path(digest));
      },
      path: (digest) => this.path(digest),
      checkRoom: () => this.#checkRoom(),
    });
  }

  /** The host's disk is never filled up (SBX-10). */
  async #checkRoom(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize >= this.#reserveBytes) return;
    throw new AppError("limit_exceeded", `the disk with ${this.#folder} is full`, {
      hint: "delete snapshots, or free space on that disk",
      details: { reserveBytes: this.#reserveBytes },
    });
  }

  path(digest: string): string {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new AppError("internal", "not a digest");
    return join(this.#folder, digest.slice(0, 2), digest.slice(2));
  }

  async read(digest: string): Promise<Buffer> {
    let stored: Buffer;
    try {
      stored = await readFile(this.path(digest));
    } catch (error) {
      throw new AppError("internal", `cannot read the blob ${digest}: ${errnoOf(error)}`, { cause: error });
    }
    const rest = stored.subarray(1);
    const bytes =
      stored[0] === packed[0]
        ? await decompress(rest, { maxOutputLength: blobLimits.bytes }).catch(() => Buffer.alloc(0))
        : rest;
    if (sha256(bytes) !== digest) throw new AppError("internal", `the blob ${digest} is damaged`);
    return bytes;
  }

  /** One at a time: a second caller gets a sweep that begins after its call. */
  sweep(mark: BlobMark): Promise<Swept> {
    return this.#alone(async () => {
      const swept: Swept = { removed: 0, kept: 0, removedBytes: 0 };
      const live = await marked(mark);
      for await (const digest of this.#digests()) {
        if (this.#isNeeded(digest, live)) swept.kept++;
        else {
          const bytes = await this.#sizeOf(digest);
          if (this.#isNeeded(digest, live)) {
            swept.kept++;
            continue;
          }
          await this.#remove(digest);
          swept.removed++;
          swept.removedBytes += bytes;
        }
      }
      return swept;
    });
  }

  look(mark: BlobMark): Promise<Swept & { keptBytes: number }> {
    return this.#alone(async () => {
      const found = { removed: 0, kept: 0, removedBytes: 0, keptBytes: 0 };
      const live = await marked(mark);
      for await (const digest of this.#digests()) {
        const bytes = await this.#sizeOf(digest);
        if (this.#isNeeded(digest, live)) {
          found.kept++;
          found.keptBytes += bytes;
        } else {
          found.removed++;
          found.removedBytes += bytes;
        }
      }
      return found;
    });
  }

  async #alone<T>(act: () => Promise<T>): Promise<T> {
    while (this.#sweep !== undefined) await this.#sweep.catch(() => undefined);
    const done = act().finally(() => {
      this.#sweep = undefined;
      this.#released.clear();
    });
    this.#sweep = done;
    return done;
  }

  async *#digests(): AsyncGenerator<string> {
    for (const shard of await readdir(this.#folder)) {
      if (!/^[0-9a-f]{2}$/.test(shard)) continue;
      for (const rest of await readdir(join(this.#folder, shard))) yield shard + rest;
    }
  }

  #isNeeded(digest: string, live: ReadonlySet<string>): boolean {
    return live.has(digest) || this.#held.has(digest) || this.#released.has(digest);
  }

  /** What it takes of the disk; 0 when it is gone. */
  async #sizeOf(digest: string): Promise<number> {
    const found = await stat(this.path(digest)).catch(() => undefined);
    return found?.size ?? 0;
  }

  /** Whoever asks for the blob meanwhile waits, and finds it gone. */
  async #remove(digest: string): Promise<void> {
    const removed = unlink(this.path(digest)).catch((error) => {
      if (errnoOf(error) !== "ENOENT") throw error;
    });
    const done = removed.finally(() => this.#leaving.delete(digest));
    this.#leaving.set(
      digest,
      done.catch(() => undefined),
    );
    await done;
  }

  #release(digest: string): void {
    const holders = (this.#held.get(digest) ?? 1) - 1;
    if (holders > 0) this.#held.set(digest, holders);
    else this.#held.delete(digest);
    if (this.#sweep !== undefined) this.#released.add(digest);
  }
}

async function marked(mark: BlobMark): Promise<ReadonlySet<string>> {
  const live = new Set<string>();
  await mark((digest) => live.add(digest));
  return live;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

interface SessionParts {
  folder: string;
  hold(digest: string): void;
  release(digest: string): void;
  has(digest: string): Promise<boolean>;
  path(digest: string): string;
  checkRoom(): Promise<void>;
}

/** Files are written under other names, and get their own once they are safe on the disk. */
class FileSession implements BlobSession {
  addedBytes = 0;
  readonly #parts: SessionParts;
  readonly #digests = new Set<string>();
  readonly #written: { from: string; to: string }[] = [];
  readonly #folders = new Set<string>();
  readonly #underWay = new Set<Promise<void>>();
  #pendingBytes = 0;
  #nextCheck = 0;
  #failure: unknown;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  async put(digest: string, bytes: Buffer): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#digests.has(digest)) return;
    this.#digests.add(digest);
    this.#folders.add(dirname(this.#parts.path(digest)));
    this.#parts.hold(digest);
    this.#pendingBytes += bytes.length;
    const write = this.#write(digest, bytes)
      .catch((error: unknown) => {
        this.#failure ??= explainFullDisk(error, this.#parts.folder);
      })
      .finally(() => {
        this.#pendingBytes -= bytes.length;
        this.#underWay.delete(write);
      });
    this.#underWay.add(write);
    while (this.#pendingBytes > blobLimits.pendingBytes || this.#underWay.size > blobLimits.pendingWrites)
      await Promise.race(this.#underWay);
    if (this.#written.length >= blobLimits.batch) await this.#settle();
  }

  async #write(digest: string, bytes: Buffer): Promise<void> {
    if (await this.#parts.has(digest)) return;
    if (this.addedBytes >= this.#nextCheck) {
      this.#nextCheck = this.addedBytes + blobLimits.checkBytes;
      await this.#parts.checkRoom();
    }
    const from = join(this.#parts.folder, "new", randomBytes(12).toString("hex"));
    const parts = await encode(bytes);
    await using file = await open(from, "wx", 0o600);
    await file.writev(parts);
    this.#written.push({ from, to: this.#parts.path(digest) });
    this.addedBytes += parts.reduce((total, part) => total + part.length, 0);
  }

  /** Many at once: the first to be synced takes most of the others along. */
  async #settle(): Promise<void> {
    await Promise.all(this.#underWay);
    if (this.#failure !== undefined) throw this.#failure;
    const batch = this.#written.splice(0);
    await Promise.all(batch.map(({ from, to }) => this.#settleOne(from, to)));
  }

  async #settleOne(from: string, to: string): Promise<void> {
    await using file = await open(from, "r+");
    await file.datasync();
    const folder = dirname(to);
    await mkdir(folder, { mode: 0o700, recursive: true });
    await rename(from, to);
  }

  async commit(): Promise<void> {
    while (this.#underWay.size > 0 || this.#written.length > 0) await this.#settle();
    if (this.#failure !== undefined) throw this.#failure;
    await Promise.all([this.#parts.folder, ...this.#folders].map(syncFolder));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#underWay);
    await Promise.all(this.#written.splice(0).map(({ from }) => rm(from, { force: true })));
    for (const digest of this.#digests) this.#parts.release(digest);
    this.#digests.clear();
  }
}
