import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, statfs, utimes } from "node:fs/promises";
import { join } from "node:path";
import { checkDiskRoom, type DiskRoom, showGibibytes } from "../../core/disk-room.ts";
import { AppError } from "../../core/errors.ts";
import { engineLimits } from "../limits.ts";
import { findProgram } from "../runtime.ts";
import { runProcess } from "../spawn.ts";
import {
  claimFile,
  claimIn,
  claimNext,
  countBytes,
  dropNext,
  emptyClaim,
  imageName,
  statIfThere,
  takeNext,
  unclaim,
} from "./disk-claims.ts";

const BLOCK_BYTES = 4096;
const INODE_BYTES = 256;

/** Workspaces are sparse ext4 images, filled from a template of their size. */
export class WorkspaceDisk {
  readonly #engineFolder: string;
  readonly #templates: string;
  #unavailable: Promise<string | null> | undefined;
  readonly #makers = new Map<number, Promise<string>>();

  constructor(engineFolder: string) {
    this.#engineFolder = engineFolder;
    this.#templates = join(engineFolder, "templates");
  }

  /** Why workspaces cannot be images here; null where they can. */
  unavailable(): Promise<string | null> {
    this.#unavailable ??= this.#findWhy();
    return this.#unavailable;
  }

  async #findWhy(): Promise<string | null> {
    if ((await sizeOf("/dev/loop-control")) === undefined) return "this host has no loop devices";
    if ((await findProgram("mkfs.ext4")) === undefined) return "mkfs.ext4 is not installed";
    return null;
  }

  /** The image of the size, made at its first use. Asked for each time: another owner may forget it. */
  template(storageBytes: number): Promise<string> {
    const sizeBytes = Math.ceil(storageBytes / BLOCK_BYTES) * BLOCK_BYTES;
    const known = this.#makers.get(sizeBytes);
    if (known !== undefined) return known;
    const making = this.#make(sizeBytes).finally(() => this.#makers.delete(sizeBytes));
    this.#makers.set(sizeBytes, making);
    return making;
  }

  /**
   * Claims the size by the file itself, then looks whether all claims fit: of two that race for the last room, both
   * may be refused, never both pass (hazard 8).
   */
  async reserve(folder: string, storageBytes: number): Promise<void> {
    const sizeBytes = Math.ceil(storageBytes / BLOCK_BYTES) * BLOCK_BYTES;
    if (await takeNext(folder, sizeBytes)) return;
    const image = join(folder, imageName);
    await claimFile(image, sizeBytes);
    try {
      await this.#check(`a workspace of ${showGibibytes(sizeBytes)}`, sizeBytes);
    } catch (error) {
      await rm(image, { force: true });
      throw error;
    }
  }

  /** Room for a workspace that is about to be made anew: what its image holds becomes a claim again, so there is none to find. */
  async reserveAnew(folder: string, storageBytes: number): Promise<void> {
    if ((await statIfThere(join(folder, imageName))) === undefined) await this.reserve(folder, storageBytes);
    else await this.#check("a workspace that is made anew", 0);
  }

  /** Empties an image that has its claim. False where there is none: its room is to be reserved. */
  empty(folder: string, storageBytes: number): Promise<boolean> {
    return emptyClaim(folder, Math.ceil(storageBytes / BLOCK_BYTES) * BLOCK_BYTES);
  }

  /** As reserve, for the image that a sandbox goes on with when its own has become a layer. */
  async reserveNext(folder: string): Promise<void> {
    await claimNext(folder);
    try {
      await this.#check("going on with a workspace that is saved", 0);
    } catch (error) {
      await dropNext(folder);
      throw error;
    }
  }

  /** As reserve, for what `write` writes into a folder that has no name yet. */
  async withRoom<T>(draft: string, bytes: number, write: () => Promise<T>): Promise<T> {
    await claimIn(draft, bytes);
    await this.#check(showGibibytes(bytes), bytes);
    const written = await write();
    await unclaim(draft);
    return written;
  }

  async #check(what: string, sizeBytes: number): Promise<void> {
    checkDiskRoom(await this.room(), what, sizeBytes);
  }

  async room(): Promise<DiskRoom> {
    const reserveBytes = engineLimits.diskReserveBytes;
    const freeBytes = (await this.freeBytes()) - reserveBytes;
    return { freeBytes, reserveBytes, ...(await countBytes(this.#engineFolder)) };
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(join(this.#engineFolder, "sandboxes"));
    return bavail * bsize;
  }

  async #make(sizeBytes: number): Promise<string> {
    const path = join(this.#templates, `ext4-${sizeBytes}.img`);
    if ((await sizeOf(path)) === sizeBytes) {
      const now = new Date();
      await utimes(path, now, now);
      return path;
    }
    const draft = join(this.#templates, `.${randomUUID()}`);
    await mkdir(this.#templates, { recursive: true, mode: 0o700 });
    try {
      const file = await open(draft, "wx", 0o600);
      await file.truncate(sizeBytes).finally(() => file.close());
      await format(draft);
      await rename(draft, path);
    } finally {
      await rm(draft, { force: true });
    }
    await this.#forgetOldest(path);
    return path;
  }

  async #forgetOldest(kept: string): Promise<void> {
    const names = (await readdir(this.#templates)).filter((name) => name.startsWith("ext4-"));
    const dated = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#templates, name);
        return { path, usedMs: (await statIfThere(path))?.mtimeMs ?? 0 };
      }),
    );
    const old = dated.filter(({ path }) => path !== kept).sort((left, right) => right.usedMs - left.usedMs);
    for (const { path } of old.slice(engineLimits.templates - 1)) {
      await rm(path, { force: true });
    }
  }
}

/**
 * No reserved blocks and a small journal: the whole size is the user's, and an unused image takes little disk. Inodes that
 * hold times to the nanosecond: older mkfs gives small images shorter ones.
 */
async function format(path: string): Promise<void> {
  const mkfs = await findProgram("mkfs.ext4");
  if (mkfs === undefined)
    throw new AppError("unsupported", "mkfs.ext4 is not installed", { hint: "install e2fsprogs" });
  const extended = "lazy_itable_init=1,lazy_journal_init=1,nodiscard";
  const features = "^resize_inode";
  const sizes = ["-b", String(BLOCK_BYTES), "-I", String(INODE_BYTES), "-J", "size=4"];
  const args = ["-q", "-F", "-m", "0", ...sizes, "-O", features, "-E", extended, path];
  const { code, output } = await runProcess(mkfs, args, {
    timeoutMs: engineLimits.startTimeoutMs,
    outputBytes: engineLimits.runtimeLogBytes,
  });
  if (code !== 0) throw new AppError("internal", `mkfs.ext4 failed: ${output.trim()}`);
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await statIfThere(path))?.size;
}
