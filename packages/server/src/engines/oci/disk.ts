import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat, statfs, utimes } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../core/errors.ts";
import { engineLimits } from "../../core/limits.ts";
import { findProgram } from "../runtime.ts";
import { runProcess } from "../spawn.ts";

const BLOCK_BYTES = 4096;
export const imageName = "workspace.img";
const gibibytes = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

/** Workspaces are sparse ext4 images, filled from a template of their size. */
export class WorkspaceDisk {
  readonly #templates: string;
  readonly #sandboxes: string;
  #unavailable: Promise<string | null> | undefined;
  readonly #makers = new Map<number, Promise<string>>();

  constructor(engineFolder: string) {
    this.#templates = join(engineFolder, "templates");
    this.#sandboxes = join(engineFolder, "sandboxes");
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
    await using file = await open(join(folder, imageName), "wx", 0o600);
    await file.truncate(sizeBytes);
    const freeBytes = (await this.freeBytes()) - engineLimits.diskReserveBytes;
    const claimedBytes = await this.#claimedBytes();
    if (claimedBytes <= freeBytes) return;
    throw new AppError(
      "limit_exceeded",
      `no disk for a workspace of ${gibibytes(sizeBytes)}: with it ${gibibytes(claimedBytes)} would be promised, and ${gibibytes(Math.max(0, freeBytes))} are free`,
      {
        hint: "ask for less storage, destroy sandboxes, or free disk where CAISSON_HOME lies",
        details: { sizeBytes, claimedBytes, freeBytes, reserveBytes: engineLimits.diskReserveBytes },
      },
    );
  }

  /** Whether so much can be written without breaking what is promised. */
  async checkRoom(bytes: number): Promise<void> {
    const freeBytes = (await this.freeBytes()) - engineLimits.diskReserveBytes - (await this.#claimedBytes());
    if (bytes <= freeBytes) return;
    throw new AppError(
      "limit_exceeded",
      `no disk for ${gibibytes(bytes)}: ${gibibytes(Math.max(0, freeBytes))} are free`,
      {
        hint: "destroy sandboxes, remove layers, or free disk where CAISSON_HOME lies",
      },
    );
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#sandboxes);
    return bavail * bsize;
  }

  /** What live images may still grow by. */
  async #claimedBytes(): Promise<number> {
    let claimedBytes = 0;
    for (const name of await readdir(this.#sandboxes)) {
      const image = await statIfThere(join(this.#sandboxes, name, imageName));
      if (image !== undefined) claimedBytes += Math.max(0, image.size - image.blocks * 512);
    }
    return claimedBytes;
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

/** No reserved blocks and a small journal: the whole size is the user's, and an unused image takes little disk. */
async function format(path: string): Promise<void> {
  const mkfs = await findProgram("mkfs.ext4");
  if (mkfs === undefined)
    throw new AppError("unsupported", "mkfs.ext4 is not installed", { hint: "install e2fsprogs" });
  const extended = "lazy_itable_init=1,lazy_journal_init=1,nodiscard";
  const features = "^resize_inode";
  const args = ["-q", "-F", "-m", "0", "-b", String(BLOCK_BYTES), "-O", features, "-J", "size=4", "-E", extended, path];
  const { code, output } = await runProcess(mkfs, args, {
    timeoutMs: engineLimits.startTimeoutMs,
    outputBytes: engineLimits.runtimeLogBytes,
  });
  if (code !== 0) throw new AppError("internal", `mkfs.ext4 failed: ${output.trim()}`);
}

async function statIfThere(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await statIfThere(path))?.size;
}
