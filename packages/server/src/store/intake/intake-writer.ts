import { closeSync, constants, openSync, writeSync } from "node:fs";
import { storeLimits } from "../../core/store-limits.ts";
import type { IntakeStart, Request } from "../sqlite-protocol.ts";
import { isCertain } from "./certain.ts";
import { intakePathOf } from "./intake-path.ts";
import { mapFile } from "./map-file.ts";
import { encodeRecord, type IntakeRecord, recordBytes } from "./record.ts";

const limits = storeLimits.intake;

/**
 * Where the event loop lays down what is small and certain, in memory that is a file or by one write: that survives a kill -9, and
 * takes a part of the time of a commit. The store's thread brings it into the database. What is not taken is for that thread.
 */
export class IntakeWriter {
  readonly #fd: number;
  readonly #salt: number;
  readonly #memory: Buffer | undefined;
  /** Where the file cannot be memory: of a record that is written. */
  readonly #draft: Buffer;
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
    const path = intakePathOf(databasePath);
    this.#fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
    this.#memory = mapFile(path, this.#fd, limits.bytes);
    this.#draft = Buffer.allocUnsafeSlow(this.#memory === undefined ? recordBytes(limits.recordCharacters) : 0);
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
    if (this.#isHeld || this.#number - this.#applied >= limits.records) return false;
    if (performance.now() < this.#pausedUntilMs) return false;
    const text = textOf(batch);
    const offset = text === undefined ? undefined : this.#placeFor(recordBytes(text.length));
    if (text === undefined || offset === undefined) return false;
    const startMs = performance.now();
    const size = this.#layDown(offset, { number: this.#number + 1, text });
    const tookMs = performance.now() - startMs;
    // The disk holds it up: the event loop shall wait for it a small part of the time at most.
    if (tookMs > limits.slowMs) this.#pausedUntilMs = startMs + tookMs * limits.pauseTimes;
    if (size === undefined) return false;
    this.#number++;
    this.#offset = offset + size;
    return true;
  }

  /** At the start again as soon as nothing that lies there is needed, after a loss of power too: pages written lately take the least. */
  #placeFor(bytes: number): number | undefined {
    if (this.#kept === this.#number) return 0;
    if (this.#offset + bytes <= limits.bytes) return this.#offset;
    this.#needsRoom = true;
    return undefined;
  }

  /** Its size. One that fails, or is cut short, is no record, and the next has its place. */
  #layDown(offset: number, record: IntakeRecord): number | undefined {
    if (this.#memory !== undefined) return encodeRecord(this.#memory, offset, this.#salt, record);
    const size = encodeRecord(this.#draft, 0, this.#salt, record);
    try {
      return writeSync(this.#fd, this.#draft, 0, size, offset) === size ? size : undefined;
    } catch {
      return undefined; // the thread, which has it then, tells what is wrong with the disk
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

/** Undefined where one of them is not for the intake. */
function textOf(batch: readonly Request[]): string | undefined {
  const texts: string[] = [];
  for (const request of batch) {
    const text = isCertain(request) ? JSON.stringify(request) : undefined;
    if (text === undefined || text.length > limits.characters) return undefined;
    texts.push(text);
  }
  const text = `[${texts.join(",")}]`;
  return text.length > limits.recordCharacters ? undefined : text;
}
