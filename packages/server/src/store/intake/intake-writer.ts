import { closeSync, constants, openSync, writeSync } from "node:fs";
import { storeLimits } from "../../core/store-limits.ts";
import type { IntakeStart, Request } from "../sqlite-protocol.ts";
import { isCertain } from "./certain.ts";
import { intakePathOf } from "./intake-path.ts";
import { encodeRecord, recordBytes } from "./record.ts";

const limits = storeLimits.intake;

/**
 * Where the event loop lays down what is small and certain, by one write to a file: that survives a kill -9, and takes a
 * part of the time of a commit. The store's thread brings it into the database. What is not taken is for that thread.
 */
export class IntakeWriter {
  readonly #fd: number;
  readonly #salt: number;
  readonly #buffer = Buffer.allocUnsafeSlow(recordBytes(limits.characters));
  #number: number;
  #offset: number;
  /** In the database up to the first, and on the disk there up to the second. */
  #applied: number;
  #kept: number;
  #isHeld = false;
  #needsRoom = false;
  #pausedUntilMs = 0;

  /** After the store's thread has opened it, which knows where to start. */
  constructor(databasePath: string, { salt, number, offset }: IntakeStart) {
    this.#fd = openSync(intakePathOf(databasePath), constants.O_WRONLY | constants.O_NOFOLLOW);
    this.#salt = salt;
    this.#number = number;
    this.#applied = number;
    this.#kept = number;
    this.#offset = offset;
  }

  /** The last that was taken. */
  get number(): number {
    return this.#number;
  }

  get isBehind(): boolean {
    return this.#applied < this.#number;
  }

  /** Whether it would take more if all that it holds were on the disk elsewhere. */
  get needsRoom(): boolean {
    return this.#needsRoom;
  }

  /** Whether all of it is taken, as one record, and so all of it or nothing survives. */
  take(batch: readonly Request[]): boolean {
    if (this.#isHeld || this.#number - this.#applied >= limits.records || !batch.every(isCertain)) return false;
    const startMs = performance.now();
    if (startMs < this.#pausedUntilMs) return false;
    const text = JSON.stringify(batch);
    if (text.length > limits.characters) return false;
    const size = encodeRecord(this.#buffer, this.#salt, { number: this.#number + 1, text });
    const offset = this.#offset + size > limits.bytes ? 0 : this.#offset;
    // What lies there may be needed still, after a loss of power too.
    this.#needsRoom = offset < this.#offset && this.#kept < this.#number;
    if (this.#needsRoom) return false;
    const isWritten = this.#write(size, offset);
    const tookMs = performance.now() - startMs;
    // The disk holds it up: the event loop shall wait for it a small part of the time at most.
    if (tookMs > limits.slowMs) this.#pausedUntilMs = startMs + tookMs * limits.pauseTimes;
    if (!isWritten) return false;
    this.#number++;
    this.#offset = offset + size;
    return true;
  }

  /** One that fails, or is cut short, is no record, and the next has its place. */
  #write(size: number, offset: number): boolean {
    try {
      return writeSync(this.#fd, this.#buffer, 0, size, offset) === size;
    } catch {
      return false; // the thread, which has it then, tells what is wrong with the disk
    }
  }

  applied(number: number): void {
    this.#applied = number;
    this.#isHeld = false;
  }

  kept(number: number): void {
    this.#kept = number;
    this.#needsRoom = false;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** The thread cannot bring it into the database: no more until it has. */
  hold(): void {
    this.#isHeld = true;
  }

  close(): void {
    closeSync(this.#fd);
  }
}
