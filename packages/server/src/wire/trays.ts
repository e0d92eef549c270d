import { closeSync, constants, fstatSync, ftruncateSync, openSync, readlinkSync, writeSync } from "node:fs";
import { geteuid } from "node:process";
import { errnoOf } from "../core/errors.ts";
import { wireLimits } from "../core/limits.ts";
import { WireViolation } from "./frame.ts";

const { trayBytes, trays, traysIdleMs } = wireLimits;
const noRoom: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Large pieces do not go through the FIFO, where every page of them is a new one: the owner lays each on a tray, a part of a
 * file in memory that the guest has mapped and cannot write, and a frame tells of it. Trays are used in turn, and the guest says
 * how many it has taken. A piece that finds no tray, or no memory, goes through the FIFO as small ones do.
 */
export class Trays {
  /** Undefined on a host that has no place for them, and when they are closed. */
  #fd: number | undefined;
  readonly #failed: (reason: string) => void;
  readonly #told = Buffer.alloc(8);
  #laid = 0;
  #taken = 0;
  #idle: NodeJS.Timeout | undefined;
  #laidBefore = 0;

  /** By `openTrays`; closed with these. */
  constructor(fd: number | undefined, failed: (reason: string) => void) {
    this.#fd = fd;
    this.#failed = failed;
  }

  /** What to tell the guest, good until the next call; undefined where the piece cannot be laid down. */
  lay(piece: Uint8Array): Buffer | undefined {
    const fd = this.#fd;
    if (fd === undefined || this.#laid - this.#taken >= trays || piece.length > trayBytes) return undefined;
    const number = this.#laid % trays;
    const isWritten = this.#try(() => writeSync(fd, piece, 0, piece.length, number * trayBytes) === piece.length);
    if (!isWritten) return undefined;
    this.#laid++;
    this.watch();
    this.#told.writeUInt32LE(number, 0);
    this.#told.writeUInt32LE(piece.length, 4);
    return this.#told;
  }

  onTaken(count: number): void {
    if (count < this.#taken || count > this.#laid) throw new WireViolation(`tray ${count} of ${this.#laid}`);
    this.#taken = count;
  }

  /** From when the guest knows this owner on: what a former one has laid there goes too. */
  watch(): void {
    if (this.#fd !== undefined) this.#idle ??= setInterval(() => this.#clearIfIdle(), traysIdleMs).unref();
  }

  close(): void {
    clearInterval(this.#idle);
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** What was laid there is nobody's to find later, and takes no memory. */
  #clearIfIdle(): void {
    const fd = this.#fd;
    const isIdle = this.#laid === this.#laidBefore && this.#laid === this.#taken;
    this.#laidBefore = this.#laid;
    if (!isIdle || fd === undefined) return;
    clearInterval(this.#idle);
    this.#idle = undefined;
    this.#try(() => {
      ftruncateSync(fd, 0);
      ftruncateSync(fd, trays * trayBytes);
      return true;
    });
  }

  #try(write: () => boolean): boolean {
    try {
      return write();
    } catch (error) {
      if (!noRoom.has(errnoOf(error))) this.#failed(`the trays cannot be written: ${errnoOf(error)}`);
      return false;
    }
  }
}

const absent: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EACCES"]);

/** The link is the engine's, and leads below a folder where anybody writes: only a file of this user's alone is taken (hazard 3). */
export function openTrays(link: string): number | undefined {
  const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const fd = openSync(readlinkSync(link), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
    const info = fstatSync(fd);
    if (info.isFile() && info.uid === geteuid?.() && (info.mode & 0o077) === 0 && info.nlink === 1) return fd;
    closeSync(fd);
  } catch (error) {
    if (!absent.has(errnoOf(error))) throw error;
  }
  return undefined;
}
